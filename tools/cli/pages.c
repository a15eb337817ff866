#include "cli/pages.h"

#include "geometry/geodesic.h"
#include "geometry/magnus.h"
#include "gguf/quantize.h"
#include "session/arch_internal.h"

static const char *exact_product(const geodec_ggml_traits *t)
{
    return t->product == GEODEC_GGML_INTEGERS ? "integers" : t->product == GEODEC_GGML_DECODED ? "decoded" : "floats";
}

static const char *fast_product(const geodec_ggml_traits *t)
{
    return t->product == GEODEC_GGML_BYTES ? "integers" : exact_product(t);
}

void tensor_types_page(FILE *out)
{
    const geodec_ggml_traits *t;
    (void)fprintf(out,
                  "# Tensor types\n"
                  "\n"
                  "Types of tensors in a GGUF file, from the table in `libcommon/model/gguf/tensor_types.h` (`geodec "
                  "info --tensor-types`).\n"
                  "All of them can be read; a file with a tensor of any other type is refused.\n"
                  "\n"
                  "| type | number | values of a block | bytes | bits a value | `geodec-quantize` writes it | "
                  "other rows | products, exact | fast |\n"
                  "|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; (t = geodec_ggml_traits_at(i)); i++)
        (void)fprintf(out, "| `%s` | %d | %d | %d | %.4g | %s | %s | %s | %s |\n", t->name, t->type, t->block,
                      t->block_bytes, 8.0 * t->block_bytes / t->block,
                      !t->encode                ? "no"
                      : t->nearest == t->encode ? "by rounding"
                                                : "by a search for scales",
                      t->block > 1 && t->encode ? geodec_ggml_type_name(t->instead) : "", exact_product(t),
                      fast_product(t));
    (void)fprintf(out,
                  "\n"
                  "Other rows: the type of a matrix whose row length is not a multiple of the block; F16 if that does "
                  "not fit either.\n"
                  "Products, in exact and in fast arithmetic: floats (by float kernels of the type), integers, or "
                  "decoded (as floats,\n"
                  "after a few rows are decoded). In memory, weights for products in integers are as large as in the "
                  "file, but for\n"
                  "the types with code books, IQ1 to IQ3, which take 3 or 4 bits a value and half a bit for scales.\n"
                  "\n"
                  "Recipes of `geodec-quantize --type`: `%s`.\n",
                  geodec_quantize_recipes());
}

void architectures_table(FILE *out)
{
    geodec_architecture a;
    (void)fprintf(out, "| name | models | differences |\n"
                       "|---|---|---|\n");
    for (int i = 0; geodec_arch_at(i, &a); i++) (void)fprintf(out, "| `%s` | %s | %s |\n", a.name, a.models, a.differs);
}

void integrators_page(FILE *out)
{
    (void)fprintf(out, "# Integrators\n\n"
                       "From the tables in `libcommon/geometry/geometry/geodesic.h` and "
                       "`libcommon/geometry/geometry/magnus.h` (`geodec info "
                       "--integrators`).\n"
                       "Order: of the global error where the field is smooth.\n\n"
                       "Geodesics, `geodec-geodesic --method`:\n\n"
                       "| name | order | |\n|---|---|---|\n");
    for (int i = 0; i < GEODEC_GEODESIC_METHODS; i++) {
        const geodec_geodesic_row *r = geodec_geodesic_row_of((geodec_geodesic_method)i);
        (void)fprintf(out, "| `%s` | %d | %s |\n", r->name, r->order, r->text);
    }
    (void)fprintf(out, "\nPropagators, `--scheme` of `geodec-propagate` and `geodec-validity`:\n\n"
                       "| name | order | |\n|---|---|---|\n");
    for (int i = 0; i < GEODEC_MAGNUS_SCHEMES; i++) {
        const geodec_magnus_scheme s = (geodec_magnus_scheme)i;
        (void)fprintf(out, "| `%s` | %d | %s |\n", geodec_magnus_name(s), geodec_magnus_order(s),
                      geodec_magnus_text(s));
    }
}
