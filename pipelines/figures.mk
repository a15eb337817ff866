# Figures and the report page (made from the artifacts by geodec-table and gnuplot).
.PHONY: figures report
