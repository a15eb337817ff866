documents_TESTS := test_documents.c test_jsonl.c test_plan.c
