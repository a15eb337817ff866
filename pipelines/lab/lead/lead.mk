# Gain of the flow map and of its mixture with the n-gram over the n-gram alone, in trees and chains, greedy and sampled; and the ablation
# of the map's geometry. The report has the model with its own map; `make lead` covers every model of LEAD_MODELS; `make ablation` prints the ablation.
LEAD_PROMPTS := $(call by_size,10,20,40)
LABORATORY += $(F)/lead.tsv $(F)/ablation.tsv
LAB_FIGURES += lead ablation
$(R)/lead.h5: private also := lead-bench.tsv
$(R)/lead.h5: $(BIN)/geodec-bench-decode $(R)/flowmap.h5 $(TEXT_FILE) FORCE
	@$(call tool,bench-decode) --seed $(SEED) --model $(MODEL_FILE) --artifacts $(R) $(call prompts,$(LEAD_PROMPTS)) \
	  --max-tokens $(call size,new_tokens) --drafters ngram,flowmap,ngram+flowmap --gammas 8 --trees 4,8,16,32 \
	  --seeds 1 --temperature 1 --timed 0 -o $(out) > $(new)/lead-bench.tsv
$(F)/lead.tsv: $(R)/lead.h5 $(LAB)/lead/rows $(BIN)/geodec-gain $(BIN)/geodec-table FORCE
	@$(LAB)/lead/rows $(BIN) $(NAME) $< > $(out)
$(F)/ablation.tsv: $(R)/store.h5 $(TEXT_FILE) $(LAB)/lead/ablation $(addprefix $(BIN)/geodec-,bake bench-decode gain table) FORCE
	@TOKENS=$(call size,new_tokens) TREES=16 $(LAB)/lead/ablation $(BIN) $(MODEL_FILE) $(R)/store.h5 $(TEXT_FILE) $(R)/ablation $(call prompts_of,$(LEAD_PROMPTS)) > $(out)

.PHONY: lead ablation
ablation: $(F)/ablation.tsv $(F)/ablation.svg $(F)/ablation.png
	@cat $<
lead: $(MODEL_FILE) $(addprefix $(BIN)/geodec-,sample export bake bench-decode gain table)
	@mkdir -p results/lead
	$(LAB)/lead/lead $(BIN) results/lead $(LEAD_MODELS) > results/lead/lead.tsv.tmp && mv results/lead/lead.tsv.tmp results/lead/lead.tsv
	@pipelines/plots/draw $(LAB)/lead/models.gp results/lead/lead.svg "plots='$(GP)'; tsv='results/lead/lead.tsv'"
	@cat results/lead/lead.tsv
LEAD_MODELS ?= $(MODEL_FILE) $(sort $(wildcard $(SHARED)/models/*.gguf))

$(eval $(call figure,lead,$(F)/lead.tsv,tsv='$(F)/lead.tsv'))
$(eval $(call figure,ablation,$(F)/ablation.tsv,tsv='$(F)/ablation.tsv'))
