# The error of geodec-second-form against the number of points, on worlds of known curvature: the figure, and the page docs/results/second-form.md.
# It does not depend on the model.
$(R)/second-form-trials.tsv: pipelines/lab/second-form/trials $(addprefix $(BIN)/geodec-,worlds cloud second-form table value) FORCE
	@$< $(BIN) $(w).d > $(out)
# Slopes of log error against log N; a fit whose third derivatives are not zero has an error of the order radius ~ N^(-1/n), one on a sphere of radius^2.
$(R)/second-form-slopes.tsv: $(R)/second-form-trials.tsv FORCE
	@$(table) $< 'SELECT "set", n, (count(*) * sum(ln(points) * ln(error)) - sum(ln(points)) * sum(ln(error))) / (count(*) * sum(ln(points) * ln(points)) - sum(ln(points)) * sum(ln(points))) AS slope, -1.0 / n AS guaranteed, -2.0 / n AS without_third_derivatives FROM t GROUP BY "set", n' > $(out)
$(F)/second-form.tsv: $(R)/second-form-trials.tsv FORCE
	@$(table) $< 'SELECT "set", n, points, avg(error) AS error FROM t GROUP BY "set", n, points ORDER BY "set", points' > $(out)
$(eval $(call figure,second-form,$(F)/second-form.tsv,tsv='$(F)/second-form.tsv'))
.PHONY: second-form
second-form: $(F)/second-form.svg $(R)/second-form-slopes.tsv
	@cat $(R)/second-form-slopes.tsv
$(eval $(call result_page,second-form,The curvature of a set against the number of points,$(R)/second-form-slopes.tsv $(F)/second-form.tsv))
