# make model: the embedded default model from nothing: corpus, vocabulary, training in two stages (a long cosine, then a short
# one with twice the batch from a lower rate), GGUF. Killed and started again, it goes on from its checkpoint. The committed files
# of data/model/ are what these rules made; the same seed gives the same bytes on the same BLAS kernels and instruction set,
# whatever the number of threads.
M := results/model
MODEL_SEED := 20260001
MODEL_STORIES := 70000
MODEL_HELD_OUT := 1000
MODEL_SHAPE := --d-model 128 --layers 6 --heads 8 --kv-heads 4 --ff 352
MODEL_DATA = --text $(M)/train.txt --held-out $(M)/held-out.txt --floor $(M)/held-out.json --length 512 --ctx 512 --name geodec-stories
MODEL_FIRST := --steps 5000 --batch 8 --lr 4e-3 --warmup 200 --eval-every 250 --eval-tokens 32768
MODEL_SECOND := --steps 800 --batch 16 --lr 1e-3 --warmup 40 --eval-every 100 --eval-tokens 32768

.PHONY: model model-install
model: $(M)/geodec-stories-f16.gguf
$(M)/train.txt: | $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed $(MODEL_SEED) --stories $(MODEL_STORIES) -o $@ --report $(M)/train.json
$(M)/held-out.txt: | $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed $(MODEL_SEED) --first $(MODEL_STORIES) --stories $(MODEL_HELD_OUT) -o $@ --report $(M)/held-out.json
$(M)/vocab.gguf: $(M)/train.txt | $(BIN)/geodec-vocab
	$(run) $(call tool,vocab) --size 1024 -o $@ $<
train = $(run) $(BIN)/geodec-train --force $(MODEL_DATA) --checkpoint $(@:.gguf=.ckpt.h5) --checkpoint-every 200 --resume
$(M)/first.gguf: $(M)/train.txt $(M)/held-out.txt $(M)/vocab.gguf | $(BIN)/geodec-train
	$(train) --seed $(MODEL_SEED) --vocab $(M)/vocab.gguf $(MODEL_SHAPE) $(MODEL_FIRST) --curve $(M)/losscurve-first.h5 -o $@
$(M)/geodec-stories-f16.gguf: $(M)/first.gguf
	$(train) --seed $(MODEL_SEED) --init $(M)/first.gguf $(MODEL_SECOND) --curve $(M)/losscurve.h5 --type f16 \
	  --out-q8 $(M)/geodec-stories-q8_0.gguf -o $@
# Puts a newly trained model in the place of the committed one.
model-install: $(M)/geodec-stories-f16.gguf
	mkdir -p data/model
	cp $(M)/geodec-stories-f16.gguf $(M)/geodec-stories-q8_0.gguf $(M)/losscurve-first.h5 $(M)/losscurve.h5 $(M)/held-out.json data/model/
