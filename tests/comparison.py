"""The comparison of the seven models, cell by cell: lesson 21 shows `text` and links it to where a lesson shows the
number, and `test` names the test that guards that number."""

from typing import NamedTuple

MODELS = {"informer": "Informer", "autoformer": "Autoformer", "fedformer": "FEDformer",
          "nonstationary": "Non-stationary", "itransformer": "iTransformer", "timexer": "TimeXer", "duet": "DUET"}
ROWS = {"problem": "problem it names", "parts": "new parts", "token": "a token is", "operator": "how tokens meet",
        "normalisation": "window normalised", "statistics": "level and scale come back",
        "gradient": "gradient through level and scale, as released"}
GROUPS = (("problem", "parts"), ("token", "operator"), ("normalisation", "statistics"), ("gradient",))


class Cell(NamedTuple):
    text: str
    test: str  # file::function


CELLS = {
    "problem": {
        "informer": Cell(
            "attention over L steps costs L²",
            "test_lesson_claims_16::test_claim_38_the_problem_is_quadratic_cost"),
        "autoformer": Cell(
            "single steps know little; patterns span many",
            "test_lesson_claims_17::"
            "test_row_42_single_steps_rarely_find_their_hour_and_all_steps_together_find_the_day"),
        "fedformer": Cell(
            "seeing the whole window, at a low cost",
            "test_lesson_claims_18::test_47_one_step_reaches_the_whole_window_and_an_average_of_25_reaches_25"),
        "nonstationary": Cell(
            "normalised windows look alike",
            "test_nonstationary_claims::test_claim_6_the_toy_has_population_deviations_and_two_scales_become_one"),
        "itransformer": Cell(
            "a token of one step blends unlike variables",
            "test_lesson_claims_19::test_51_problem_numbers_of_one_step_may_have_nothing_to_do_with_each_other"),
        "timexer": Cell(
            "covariates help, but need no forecast",
            "test_lesson_claims_19::test_problem_to_forecast_one_column_timexer_needs_24_scores_and_itransformer_81"),
        "duet": Cell(
            "windows differ, and not every variable helps",
            "test_lesson_claims_20::test_the_levels_and_scales_of_the_bikes_differ_from_window_to_window"),
    },
    "parts": {
        "informer": Cell(
            "ProbSparse, distilling, one-pass decoder",
            "test_lesson_claims_16::test_claim_41_three_new_parts"),
        "autoformer": Cell(
            "Auto-Correlation, inner decomposition",
            "test_lesson_claims_17::test_row_46_two_parts_are_new_and_the_table_of_positions_is_gone"),
        "fedformer": Cell(
            "frequency block and cross-attention",
            "test_lesson_claims_18::test_48_the_frequencies_own_most_of_a_layer"),
        "nonstationary": Cell(
            "normalise, restore; Projectors for τ and δ",
            "test_lesson_claims_21::test_new_in_the_non_stationary_transformer_are_the_boxes_that_save_and_that_make_tau_and_delta"),
        "itransformer": Cell(
            "inverted embedding",
            "test_lesson_claims_19::"
            "test_parts_without_attention_no_variable_moves_another_and_the_only_new_part_has_104_weights"),
        "timexer": Cell(
            "patches, global token, cross-attention",
            "test_lesson_claims_19::test_parts_and_gradient_of_timexer"),
        "duet": Cell(
            "router to k of N experts, drawn links",
            "test_lesson_claims_20::test_parts_and_their_parameters"),
    },
    "token": {
        "informer": Cell(
            "a time step",
            "test_lesson_claims_16::test_a_token_is_a_time_step_whatever_the_number_of_variables"),
        "autoformer": Cell(
            "a time step, related per delay",
            "test_lesson_claims_17::test_row_45_as_attention_it_is_a_circulant_of_a_few_weights"),
        "fedformer": Cell(
            "a time step, related per frequency",
            "test_lesson_claims_18::test_45_a_changed_step_moves_every_bin_and_a_changed_wave_only_its_own"),
        "nonstationary": Cell("a time step", "test_nonstationary::test_the_chain_from_0_to_18_step_by_step"),
        "itransformer": Cell(
            "a variable or a time mark",
            "test_lesson_claims_19::test_54_token_by_hand_and_five_variables_with_four_marks_make_nine"),
        "timexer": Cell(
            "a patch, or a whole covariate",
            "test_lesson_claims_19::test_token_patches_differ_between_windows_and_the_global_token_does_not"),
        "duet": Cell(
            "a variable",
            "test_lesson_claims_20::test_a_token_is_a_variable_and_experts_see_no_level_and_no_scale"),
    },
    "operator": {
        "informer": Cell(
            "few queries attend, the others take the mean",
            "test_lesson_claims_16::"
            "test_claim_38_at_toy_size_prob_sparse_is_full_attention_and_at_96_steps_74_per_cent_are_the_mean"),
        "autoformer": Cell(
            "whole series, shifted by the best delays",
            "test_lesson_claims_17::test_a_period_of_three_on_paper"),
        "fedformer": Cell(
            "a matrix for each of a few frequencies",
            "test_lesson_claims_18::test_48_the_block_is_a_linear_filter_of_the_queries_alone"),
        "nonstationary": Cell(
            "softmax((τQKᵀ + 1δᵀ)/√E)",
            "test_nonstationary::test_attention_from_a_to_i_step_by_step"),
        "itransformer": Cell(
            "full attention between variables",
            "test_lesson_claims_19::test_54_operator_attention_is_nine_by_nine_and_the_marks_rows_are_dropped"),
        "timexer": Cell(
            "full between patches; the global token asks",
            "test_lesson_claims_19::"
            "test_operator_layer_one_patches_have_sensitivity_zero_and_the_global_token_has_not"),
        "duet": Cell(
            "attention, along drawn links only",
            "test_lesson_claims_20::"
            "test_claim_three_masks_a_hidden_variable_keeps_odds_that_grow_with_the_head"),
    },
    "normalisation": {
        "informer": Cell(
            "no",
            "test_lesson_claims_16::test_claim_39_the_paper_does_not_normalise_and_the_short_term_port_does"),
        "autoformer": Cell(
            "no, decomposed",
            "test_lesson_claims_17::test_row_43_decomposition_keeps_the_scale_and_moves_the_level_to_the_trend"),
        "fedformer": Cell(
            "no, decomposed",
            "test_lesson_claims_18::test_43_decomposition_keeps_the_spread_and_the_norm_takes_the_mean_over_time"),
        "nonstationary": Cell(
            "yes",
            "test_nonstationary_claims::"
            "test_claim_6_the_toy_has_population_deviations_and_two_scales_become_one"),
        "itransformer": Cell(
            "yes",
            "test_lesson_claims_19::"
            "test_53_normalisation_three_x_plus_seven_gives_three_times_the_forecast_plus_seven"),
        "timexer": Cell(
            "yes",
            "test_lesson_claims_19::test_normalisation_and_statistics_of_timexer_are_those_of_itransformer"),
        "duet": Cell(
            "yes, not for the router",
            "test_lesson_claims_20::test_a_token_is_a_variable_and_experts_see_no_level_and_no_scale"),
    },
    "statistics": {
        "informer": Cell(
            "nothing is removed",
            "test_lesson_claims_16::test_claim_40_nothing_is_taken_off_so_nothing_is_lost"),
        "autoformer": Cell(
            "level travels in the trend",
            "test_lesson_claims_17::"
            "test_row_44_the_level_is_kept_to_the_last_digit_whatever_the_weights_and_the_scale_is_not"),
        "fedformer": Cell(
            "level travels in the trend",
            "test_lesson_claims_18::"
            "test_44_a_level_is_followed_exactly_a_scale_is_not_and_the_released_view_loses_both"),
        "nonstationary": Cell(
            "at the output *and* inside attention",
            "test_lesson_claims_06::"
            "test_without_tau_and_delta_the_forecast_follows_the_units_and_with_them_it_does_not"),
        "itransformer": Cell(
            "at the output",
            "test_lesson_claims_19::"
            "test_53_statistics_stay_out_of_attention_where_the_non_stationary_transformer_puts_them_in"),
        "timexer": Cell(
            "at the output",
            "test_lesson_claims_19::test_normalisation_and_statistics_of_timexer_are_those_of_itransformer"),
        "duet": Cell(
            "at the output; the level picks experts",
            "test_lesson_claims_20::"
            "test_claim_rows_that_change_experts_under_3x_plus_7_depend_on_the_series_and_3x_changes_none"),
    },
    "gradient": {
        "informer": Cell(
            "none to pass",
            "test_lesson_claims_16::test_claim_39_the_paper_does_not_normalise_and_the_short_term_port_does"),
        "autoformer": Cell(
            "none to pass",
            "test_lesson_claims_17::test_no_statistic_no_detach_the_two_parts_hand_back_the_whole_gradient"),
        "fedformer": Cell(
            "none to pass",
            "test_lesson_claims_18::test_every_input_has_a_gradient_and_432_parameters_have_none"),
        "nonstationary": Cell(
            "cut, to no effect",
            "test_nonstationary_claims::test_claims_10_and_11_without_clone_or_detach_nothing_changes"),
        "itransformer": Cell(
            "mean cut, σ not",
            "test_lesson_claims_19::"
            "test_52_gradient_the_mean_is_detached_the_deviation_is_not_and_the_division_in_place_stops_backward"),
        "timexer": Cell("mean cut, σ not", "test_lesson_claims_19::test_parts_and_gradient_of_timexer"),
        "duet": Cell(
            "cut, to no effect",
            "test_lesson_claims_20::test_the_gradient_through_the_statistics_is_worth_nothing"),
    },
}


def markdown(*rows: str) -> str:
    """The table of some rows, a line for each model: every cell a link to its anchor in a lesson."""
    lines = [["model", *(ROWS[row] for row in rows)], ["---"] * (1 + len(rows))]
    for model, name in MODELS.items():
        lines.append([name, *(f"[{CELLS[row][model].text}](#{row}-{model})" for row in rows)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
