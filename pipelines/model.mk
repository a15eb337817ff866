# make model: the embedded default model, from nothing: corpus, vocabulary, training, GGUF. About half an hour on two cores.
# The committed files in data/model/ are what this rule made.
M := results/model
MODEL_SEED := 20260001
MODEL_STORIES := 60000
MODEL_HELD_OUT := 800
MODEL_VOCAB := 768
MODEL_SHAPE := --d-model 128 --layers 6 --heads 8 --kv-heads 4 --ff 352 --ctx 512
MODEL_TRAIN := --steps 3000 --batch 32 --lr 3e-3

.PHONY: model
model: $(M)/geodec-stories-f16.gguf
$(M)/train.txt: $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed $(MODEL_SEED) --stories $(MODEL_STORIES) -o $@ --report $(M)/train.json
$(M)/held-out.txt: $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed $(MODEL_SEED) --first $(MODEL_STORIES) --stories $(MODEL_HELD_OUT) -o $@ --report $(M)/held-out.json
$(M)/vocab.gguf: $(BIN)/geodec-vocab $(M)/train.txt
	$(run) $(call tool,vocab) --size $(MODEL_VOCAB) -o $@ $(M)/train.txt
