# make model: makes the embedded default model: corpus, vocabulary, training, GGUF. It takes less than 40 minutes on two cores. An
# interrupted run continues from its checkpoint. These rules made the committed files of data/model/. The same seed gives the same
# bytes on the same BLAS kernels and instruction set, with any number of threads.
M := results/model
MODEL_SEED := 20260001
MODEL_STORIES := 70000
MODEL_HELD_OUT := 1000
MODEL_SHAPE := --d-model 128 --layers 6 --heads 8 --kv-heads 4 --ff 352 --ctx 512
MODEL_TRAIN := --length 512 --batch 8 --steps 5000 --lr 4e-3 --warmup 200 --eval-every 250 --eval-tokens 32768

.PHONY: model model-install
model: $(M)/geodec-stories-f16.gguf
$(M)/train.txt: | $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed $(MODEL_SEED) --stories $(MODEL_STORIES) -o $@ --report $(M)/train.json
$(M)/held-out.txt: | $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed $(MODEL_SEED) --first $(MODEL_STORIES) --stories $(MODEL_HELD_OUT) -o $@ --report $(M)/held-out.json
$(M)/vocab.gguf: $(M)/train.txt | $(BIN)/geodec-vocab
	$(run) $(call tool,vocab) --size 1024 -o $@ $<
# The F16 file is made last, so it is the target for all of them.
$(M)/geodec-stories-f16.gguf: $(M)/train.txt $(M)/held-out.txt $(M)/vocab.gguf | $(BIN)/geodec-train
	$(run) $(BIN)/geodec-train --force --seed $(MODEL_SEED) --text $(M)/train.txt --held-out $(M)/held-out.txt --vocab $(M)/vocab.gguf \
	  --floor $(M)/held-out.json $(MODEL_SHAPE) $(MODEL_TRAIN) --name geodec-stories -o $(M)/geodec-stories-f32.gguf \
	  --out-f16 $@.new --out-q8 $(M)/geodec-stories-q8_0.gguf --curve $(M)/losscurve.h5 --checkpoint $(M)/checkpoint.h5 \
	  --checkpoint-every 200 --resume && mv $@.new $@
# Replaces the committed model by a newly trained one.
model-install: $(M)/geodec-stories-f16.gguf
	mkdir -p data/model
	cp $(M)/geodec-stories-f16.gguf $(M)/geodec-stories-q8_0.gguf $(M)/losscurve.h5 $(M)/held-out.json data/model/

# make model-mixture: makes the embedded mixture from the same stories and vocabulary: 16 experts of 36,864 bytes in each of 4 layers, 2 used.
# About 15 minutes on one core. make model-mixture-control trains the control, a dense model with the same number of active parameters.
MIXTURE_SEED := 20260003
MIXTURE_SHAPE := --d-model 96 --layers 4 --heads 6 --kv-heads 3 --ff 64 --ctx 512 --experts 16 --experts-used 2
MIXTURE_TRAIN := --length 512 --batch 4 --steps 3600 --lr 4e-3 --warmup 100 --balance 0.01 --eval-every 200 --eval-tokens 32768
MIXTURE_CONTROL := --d-model 96 --layers 4 --heads 6 --kv-heads 3 --ff 128 --ctx 512
.PHONY: model-mixture model-mixture-control model-mixture-install
model-mixture: $(M)/geodec-mixture-f16.gguf
model-mixture-control: $(M)/mixture-control-losscurve.h5
$(M)/geodec-mixture-f16.gguf: $(M)/train.txt $(M)/held-out.txt $(M)/vocab.gguf | $(BIN)/geodec-train
	$(run) $(BIN)/geodec-train --force --seed $(MIXTURE_SEED) --text $(M)/train.txt --held-out $(M)/held-out.txt --vocab $(M)/vocab.gguf \
	  --floor $(M)/held-out.json $(MIXTURE_SHAPE) $(MIXTURE_TRAIN) --name geodec-mixture -o $(M)/geodec-mixture-f32.gguf \
	  --out-f16 $@.new --curve $(M)/mixture-losscurve.h5 --checkpoint $(M)/mixture-checkpoint.h5 --checkpoint-every 100 --resume && mv $@.new $@
$(M)/mixture-control-losscurve.h5: $(M)/train.txt $(M)/held-out.txt $(M)/vocab.gguf | $(BIN)/geodec-train
	$(run) $(BIN)/geodec-train --force --seed $(MIXTURE_SEED) --text $(M)/train.txt --held-out $(M)/held-out.txt --vocab $(M)/vocab.gguf \
	  --floor $(M)/held-out.json $(MIXTURE_CONTROL) $(MIXTURE_TRAIN) --name geodec-mixture-control -o $(M)/mixture-control-f32.gguf \
	  --curve $@.new --checkpoint $(M)/mixture-control-checkpoint.h5 --checkpoint-every 100 --resume && mv $@.new $@
model-mixture-install: $(M)/geodec-mixture-f16.gguf
	mkdir -p data/model
	cp $(M)/geodec-mixture-f16.gguf $(M)/mixture-losscurve.h5 data/model/

# make model-perspective: makes the embedded PERSPECTIVE model from the same stories and vocabulary: layers R R R A of width 64, rank 16, 16 ternary experts
# of width 48 on a 4 x 2 x 2 torus in each recurrent layer. make model-perspective-control trains the control, a dense model of the same active size.
PERSPECTIVE_MODEL_SEED := 20260004
PERSPECTIVE_MODEL_ACTIVE := --arch perspective --d-model 64 --layers 4 --heads 4 --kv-heads 1 --ff 48 --rank 16 --window 64 --ctx 512
PERSPECTIVE_MODEL_SHAPE := $(PERSPECTIVE_MODEL_ACTIVE) --lattice 4,2,2 --route angle --route-at pre
PERSPECTIVE_MODEL_TRAIN := --length 512 --batch 4 --steps 5000 --lr 4e-3 --beta2 0.95 --decay 0.05 --warmup 100 --lr-schedule linear --eval-every 250 --eval-tokens 32768
.PHONY: model-perspective model-perspective-control model-perspective-install
model-perspective: $(M)/geodec-perspective-f16.gguf
model-perspective-control: $(M)/perspective-control-losscurve.h5
perspective_model = $(run) $(BIN)/geodec-train --force --seed $(PERSPECTIVE_MODEL_SEED) --text $(M)/train.txt --held-out $(M)/held-out.txt --vocab $(M)/vocab.gguf \
	  --floor $(M)/held-out.json $2 $(PERSPECTIVE_MODEL_TRAIN) --checkpoint $(M)/$1-checkpoint.h5 --checkpoint-every 250 --resume
$(M)/geodec-perspective-f16.gguf: $(M)/train.txt $(M)/held-out.txt $(M)/vocab.gguf | $(BIN)/geodec-train
	$(call perspective_model,perspective,$(PERSPECTIVE_MODEL_SHAPE)) --name geodec-perspective -o $(M)/geodec-perspective-f32.gguf \
	  --out-f16 $@.new --curve $(M)/perspective-losscurve.h5 && mv $@.new $@
$(M)/perspective-control-losscurve.h5: $(M)/train.txt $(M)/held-out.txt $(M)/vocab.gguf | $(BIN)/geodec-train
	$(call perspective_model,perspective-control,$(PERSPECTIVE_MODEL_ACTIVE)) --name geodec-perspective-control -o $(M)/perspective-control-f32.gguf \
	  --curve $@.new && mv $@.new $@
model-perspective-install: $(M)/geodec-perspective-f16.gguf
	mkdir -p data/model
	cp $(M)/geodec-perspective-f16.gguf $(M)/perspective-losscurve.h5 data/model/
