"""Names that other tools have for our settings: who types ``learning_rate`` is told of ``training.lr``."""

import re

OTHER_NAMES: dict[str, str] = {  # the path of a setting, and what it is called elsewhere (or in another table)
    "seeds": "seed seeds n_seeds num_seeds repeats n_repeats n_runs num_runs random_seed random_state trials",
    "repeats": "repeats seed seeds n_seeds num_seeds n_repeats n_runs num_runs random_seed random_state",
    "trials": "trials n_trials num_trials n_iter num_samples",
    "axes": "axes grid param_grid search_space space parameters params sweep",
    "strategy": "strategy method search_method sampler search_alg",
    "tune": "tune n_trials num_trials search",
    "arms": "arms models model_list",
    "training.lr": "lr learning_rate base_lr init_lr initial_lr max_lr peak_lr lr0 eta",
    "training.batch_size": "batch_size batch bs batches minibatch minibatch_size train_batch_size mini_batch_size "
    "per_device_train_batch_size",
    "training.batch_tokens": "batch_tokens max_tokens tokens_per_batch",
    "training.epochs": "epochs epoch max_epochs num_epochs n_epochs nb_epoch num_train_epochs ep",
    "training.steps": "steps max_steps num_steps n_steps max_iter max_iters n_iter num_iterations iterations "
    "total_steps num_train_steps updates max_updates",
    "training.minutes": "minutes max_minutes max_time time_limit max_train_time",
    "training.eval_every": "eval_every eval_steps eval_interval val_check_interval validate_every",
    "training.optimizer": "optimizer optimiser optim opt",
    "training.weight_decay": "weight_decay wd l2 l2_reg l2_penalty weightdecay",
    "training.momentum": "momentum",
    "training.schedule": "schedule scheduler lr_scheduler lr_schedule learning_rate_schedule lr_scheduler_type",
    "training.schedule.warmup": "warmup warmup_ratio warmup_proportion",
    "training.schedule.rise": "warmup_steps num_warmup_steps warmup_updates",
    "training.clip": "clip grad_clip clip_grad gradient_clip gradient_clipping gradient_clip_val clipnorm clip_norm "
    "clip_grad_norm max_grad_norm grad_norm max_norm",
    "training.patience": "patience early_stopping early_stop early_stopping_patience early_stopping_rounds "
    "n_iter_no_change",
    "training.class_weights": "class_weights class_weight pos_weight sample_weight balanced loss_weights",
    "training.softmax_samples": "softmax_samples sampled_softmax num_sampled n_samples negative_samples",
    "training.device": "device gpu cuda use_gpu use_cuda accelerator",
    "training.threads": "threads num_threads n_threads nthreads intra_op_threads",
    "model.kind": "model_type model_name architecture arch cell cell_type rnn_type",
    "model.hidden": "hidden hidden_size hidden_dim hidden_units hidden_width hidden_dims hid_dim hid_size units "
    "num_units n_units nhid n_hid n_hidden num_hidden d_hidden h_dim rnn_size rnn_units lstm_units lstm_size gru_units "
    "state_size hidden_layer_sizes",
    "model.width": "hidden hidden_size hidden_dim d_model model_dim dim_model n_embd kernel_size filter_size",
    "model.widths": "widths kernel_sizes filter_sizes filter_widths window_sizes kernel_size filter_size",
    "model.layers": "layers n_layers num_layers nlayers n_layer num_hidden_layers encoder_layers num_encoder_layers "
    "rnn_layers lstm_layers depth",
    "model.heads": "heads num_heads n_heads nhead nheads n_head num_attention_heads attention_heads",
    "model.feedforward": "feedforward dim_feedforward d_ff ff_dim ffn_dim d_inner intermediate_size mlp_dim",
    "model.dropout": "dropout dropout_rate dropout_p dropout_prob drop_rate drop_prob p_dropout pdrop drop "
    "hidden_dropout_prob",
    "model.recurrent_dropout": "recurrent_dropout rnn_dropout",
    "model.locked_dropout": "locked_dropout variational_dropout variational lockdrop dropout_h",
    "model.weight_dropout": "weight_dropout weight_drop wdrop dropconnect",
    "model.embedding.type_dropout": "type_dropout dropout_e embed_drop embedded_dropout",
    "model.output_dropout": "output_dropout classifier_dropout head_dropout final_dropout",
    "model.bidirectional": "bidirectional bidir bidi bi is_bidirectional bi_directional both_directions",
    "model.embedding.width": "emb_dim emb_size embed_dim embed_size embedding_dim embedding_size embedding_width "
    "embedding_dims d_emb d_embed word_dim word_embedding_dim input_size input_dim",
    "model.embedding.dropout": "embedding_dropout emb_dropout embed_dropout input_dropout dropout_in",
    "model.embedding.word_dropout": "word_dropout token_dropout",
    "model.embedding.vectors": "vectors pretrained pretrained_embeddings pretrained_vectors embedding_file glove "
    "word_vectors",
    "model.embedding.channels": "freeze_embedding freeze_embeddings trainable_embedding",
    "model.filters": "filters num_filters n_filters nb_filter out_channels num_channels",
    "model.activation": "activation nonlinearity act activation_function hidden_act",
    "model.pooling": "pooling pool pool_type pooling_type pooling_mode aggregation readout",
    "model.forget_bias": "forget_bias forget_gate_bias unit_forget_bias",
    "model.layer_norm": "layer_norm layernorm use_layer_norm normalisation normalization",
    "model.residual": "residual skip_connections residual_connections",
    "model.max_length": "max_positions max_position_embeddings n_positions block_size context_length",
    "model.lookup": "lookup",
    "task.kind": "task_type task_name problem_type",
    "task.data": "data dataset file path train train_file train_path train_data",
    "task.valid": "valid validation val dev valid_file valid_path val_file val_path dev_file validation_file",
    "task.test": "test test_file test_path test_data",
    "task.text": "text text_column text_col text_field text_key input_column x x_col feature",
    "task.label": "label labels label_column label_col label_field label_key target target_column y y_col",
    "task.multi_label": "multi_label multilabel label_separator label_delimiter",
    "task.group": "group groups group_column group_col",
    "task.tokenizer": "tokenizer tokeniser tokenization tokenize segmenter",
    "task.max_length": "max_length max_len maxlen max_seq_len max_seq_length max_sequence_length seq_len seq_length "
    "sequence_length pad_to truncate",
    "task.length": "seq_len seq_length sequence_length time_steps timesteps num_steps T",
    "task.max_size": "max_size vocab_size vocabulary_size max_vocab max_vocab_size max_words num_words max_features",
    "task.min_count": "min_count min_freq min_frequency min_df min_word_count",
    "task.valid_fraction": "valid_fraction valid_size val_size val_split val_ratio val_fraction validation_split "
    "validation_fraction validation_size dev_size",
    "task.test_fraction": "test_fraction test_size test_split test_ratio",
    "task.split_seed": "split_seed random_state shuffle_seed",
    "task.ngrams": "ngrams ngram ngram_range word_ngrams n_grams",
    "task.metric": "metric metrics scoring eval_metric metric_for_best_model objective",
    "task.rows": "rows n_rows num_rows num_samples n_samples train_size num_examples",
}
"""Tests hold every path against the settings that there are."""


def normal(name: str) -> str:
    """``learningRate``, ``learning-rate`` and ``LEARNING_RATE`` are ``learning_rate``."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[-\s]+", "_", snake.strip()).lower()


_PATHS: dict[str, list[str]] = {}
for _path, _names in OTHER_NAMES.items():
    for _name in _names.split():
        _PATHS.setdefault(normal(_name), []).append(_path)


def paths_of(name: str) -> list[str]:
    """The settings that are called so elsewhere, the likeliest first."""
    return list(_PATHS.get(normal(name), ()))
