// A tree of n-grams: one of n tokens is a child of its first n - 1, told from its sisters by its last token. The children
// of a parent lie side by side, by token, and the parents one after another.
#include <cstdint>
#include <vector>

// Of n occurrences (parent, token), in any order: the number of each one's gram among all, `grams`; and of each gram its
// token and how often it occurs. `starts` (parents + 1): the first child of each parent. Returns how many grams.
extern "C" int64_t number_children(const int32_t* parents, const int32_t* tokens, int64_t n, int64_t all_parents,
                                   int64_t all_tokens, int32_t* grams, int32_t* last_tokens, int32_t* counts,
                                   int32_t* starts) {
    // Sorted by counting, the token first, then, keeping that order, the parent.
    std::vector<int32_t> by_token(n), by_both(n), from(all_tokens + 1, 0);
    for (int64_t i = 0; i < n; i++) from[tokens[i] + 1]++;
    for (int64_t t = 0; t < all_tokens; t++) from[t + 1] += from[t];
    for (int64_t i = 0; i < n; i++) by_token[from[tokens[i]]++] = int32_t(i);
    from.assign(all_parents + 1, 0);
    for (int64_t i = 0; i < n; i++) from[parents[i] + 1]++;
    for (int64_t p = 0; p < all_parents; p++) from[p + 1] += from[p];
    for (int64_t k = 0; k < n; k++) by_both[from[parents[by_token[k]]]++] = by_token[k];

    int64_t distinct = 0, parent = -1;
    for (int64_t k = 0; k < n; k++) {
        int32_t i = by_both[k];
        bool other_parent = parents[i] != parent;
        while (parent < parents[i]) starts[++parent] = int32_t(distinct);
        if (other_parent || tokens[i] != last_tokens[distinct - 1]) {
            last_tokens[distinct] = tokens[i];
            counts[distinct++] = 0;
        }
        counts[distinct - 1]++;
        grams[i] = int32_t(distinct - 1);
    }
    while (parent < all_parents) starts[++parent] = int32_t(distinct);
    return distinct;
}

// The child of each of n parents that has this token; -1 where there is none, or no parent (-1).
extern "C" void find_children(const int32_t* starts, const int32_t* last_tokens, const int32_t* parents,
                              const int32_t* tokens, int64_t n, int32_t* children) {
    for (int64_t i = 0; i < n; i++) {
        children[i] = -1;
        if (parents[i] < 0) continue;
        int32_t low = starts[parents[i]], end = starts[parents[i] + 1], high = end;
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (last_tokens[middle] < tokens[i])
                low = middle + 1;
            else
                high = middle;
        }
        if (low < end && last_tokens[low] == tokens[i]) children[i] = low;
    }
}
