# Streamed ternary experts, in full (tests/bench/trits.sh): every way token for token, a slow disk, flips. Trains small models; hours on a busy machine.
# The unit tests of the library have a short form. The page docs/results/ternary.md is made from the last run.
LONG_CHECKS += check-ternary-matrix
.PHONY: check-ternary-matrix ternary-page
check-ternary-matrix: $(B)/bin/geodec-train $(B)/bin/geodec-vocab $(B)/bin/geodec-ternary $(B)/bin/geodec-decode $(B)/bin/geodec-experts $(B)/bin/geodec-perplexity $(B)/bench/bench-trits
	@B=$(B) sh tests/bench/trits.sh
ternary-page:
	@sh tests/bench/trits-page results/ternary > docs/results/ternary.md.tmp && mv docs/results/ternary.md.tmp docs/results/ternary.md
