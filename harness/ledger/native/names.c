/* File and function names, each pair kept once, and whether the file is the user's own. Copied on first sight: code
 * objects die, and holding one would keep alive the very program that makes a function a step. */
#include "ledger.h"
#include "pages.h"

#include <string.h>
#include <unistd.h>

#define MOST_NAMES 32768
#define NAME_SLOTS (MOST_NAMES * 2)
#define MOST_PREFIXES 32
#define LONGEST_PATH 4096

typedef struct {
    char text[1024];
    size_t length;
    bool is_user;
} prefix;

static prefix prefixes[MOST_PREFIXES];
static int prefix_count;
static char folder[LONGEST_PATH];

static small_lock lock;
static arena texts;
static name_entry *entries;   /* by number; 0 is "no more are kept" */
static uint64_t *hashes;      /* by number */
static uint32_t *slots;       /* by hash; 0 is empty */
static uint32_t count;

uint64_t
text_hash(uint64_t seed, const void *text, size_t bytes)
{
    const unsigned char *at = text;
    uint64_t hash = seed ^ (bytes * UINT64_C(0x9E3779B97F4A7C15));
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
        hash ^= hash >> 32;
    }
    for (; bytes > 0; at++, bytes--) {
        hash = (hash ^ *at) * UINT64_C(0xC4CEB9FE1A85EC53);
        hash ^= hash >> 29;
    }
    return hash;
}

/* UTF-8 into *to*, as much as fits, and a 0. Lone surrogates (undecodable file names) pass as they are. */
static size_t
encode(PyObject *text, char *to, size_t room)
{
    int kind = (int)PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    size_t used = 0;
    for (Py_ssize_t i = 0; i < length && used + 5 < room; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c < 0x80) {
            to[used++] = (char)c;
        } else if (c < 0x800) {
            to[used++] = (char)(0xC0 | c >> 6);
            to[used++] = (char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            to[used++] = (char)(0xE0 | c >> 12);
            to[used++] = (char)(0x80 | (c >> 6 & 0x3F));
            to[used++] = (char)(0x80 | (c & 0x3F));
        } else {
            to[used++] = (char)(0xF0 | c >> 18);
            to[used++] = (char)(0x80 | (c >> 12 & 0x3F));
            to[used++] = (char)(0x80 | (c >> 6 & 0x3F));
            to[used++] = (char)(0x80 | (c & 0x3F));
        }
    }
    to[used] = '\0';
    return used;
}

const char *
names_set_up(PyObject *given)
{
    Py_ssize_t size = PyTuple_Check(given) ? PyTuple_GET_SIZE(given) : -1;
    if (size < 0 || size > MOST_PREFIXES) {
        return "the path prefixes are no tuple of at most 32";
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *path;
        int is_user;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "Up", &path, &is_user)) {
            return "a path prefix is no pair of text and truth";
        }
        prefixes[i].length = encode(path, prefixes[i].text, sizeof(prefixes[i].text));
        prefixes[i].is_user = is_user;
    }
    prefix_count = (int)size;
    if (getcwd(folder, sizeof(folder)) == NULL) {
        folder[0] = '\0';
    }
    return NULL;
}

/* An absolute path without "." and "..", as os.path.abspath makes it. */
static void
make_absolute(const char *path, char *to, size_t room)
{
    char whole[2 * LONGEST_PATH];
    size_t used = 0;
    snprintf(whole, sizeof(whole), "%s%s%s", path[0] == '/' ? "" : folder, path[0] == '/' ? "" : "/", path);
    for (const char *part = whole; *part != '\0';) {
        while (*part == '/') {
            part++;
        }
        size_t length = strcspn(part, "/");
        if (length == 2 && memcmp(part, "..", 2) == 0) {
            while (used > 0 && to[--used] != '/') {
            }
        } else if (length > 0 && !(length == 1 && *part == '.') && used + length + 2 < room) {
            to[used++] = '/';
            memcpy(to + used, part, length);
            used += length;
        }
        part += length;
    }
    to[used] = '\0';
}

static bool
is_users(const char *path)
{
    char absolute[2 * LONGEST_PATH];
    if (strncmp(path, "<frozen", 7) == 0) {
        return false;
    }
    if (path[0] == '<') {
        return true; /* generated code */
    }
    make_absolute(path, absolute, sizeof(absolute));
    for (int i = 0; i < prefix_count; i++) {
        if (strncmp(absolute, prefixes[i].text, prefixes[i].length) == 0) {
            return prefixes[i].is_user;
        }
    }
    return strstr(absolute, "/site-packages/") == NULL && strstr(absolute, "/dist-packages/") == NULL;
}

void
names_reset(void)
{
    lock_take(&lock);
    arena_empty(&texts);
    pages_give(entries, MOST_NAMES * sizeof(*entries));
    pages_give(hashes, MOST_NAMES * sizeof(*hashes));
    pages_give(slots, NAME_SLOTS * sizeof(*slots));
    entries = pages_take(MOST_NAMES * sizeof(*entries));
    hashes = pages_take(MOST_NAMES * sizeof(*hashes));
    slots = pages_take(NAME_SLOTS * sizeof(*slots));
    count = 1;
    lock_drop(&lock);
}

static const char *
keep(const char *text, size_t length)
{
    char *kept = arena_take(&texts, length + 1);
    if (kept != NULL) {
        memcpy(kept, text, length + 1);
    }
    return kept;
}

static uint32_t
find_or_add(const char *path, size_t path_length, const char *function, size_t function_length)
{
    uint64_t hash = text_hash(text_hash(1, path, path_length), function, function_length);
    uint32_t at = (uint32_t)(hash % NAME_SLOTS);
    for (; slots[at] != 0; at = (at + 1) % NAME_SLOTS) {
        const name_entry *entry = &entries[slots[at]];
        if (hashes[slots[at]] == hash && strcmp(entry->path, path) == 0 && strcmp(entry->function, function) == 0) {
            return slots[at];
        }
    }
    if (count == MOST_NAMES) {
        return NAME_TOO_MANY;
    }
    name_entry entry = {keep(path, path_length), keep(function, function_length), is_users(path)};
    if (entry.path == NULL || entry.function == NULL) {
        return NAME_TOO_MANY;
    }
    entries[count] = entry;
    hashes[count] = hash;
    slots[at] = count;
    return count++;
}

uint32_t
name_number(PyCodeObject *code, bool *is_user)
{
    char path[LONGEST_PATH], function[1024];
    size_t path_length = encode(code->co_filename, path, sizeof(path));
    size_t function_length = encode(code->co_qualname, function, sizeof(function));
    lock_take(&lock);
    uint32_t number = NAME_TOO_MANY;
    if (entries != NULL && hashes != NULL && slots != NULL) {
        number = find_or_add(path, path_length, function, function_length);
        *is_user = number == NAME_TOO_MANY ? is_users(path) : entries[number].is_user;
    }
    lock_drop(&lock);
    return number;
}

name_entry
name_of(uint32_t number)
{
    lock_take(&lock);
    name_entry found = {"", "", false};
    if (number != NAME_TOO_MANY && number < count && entries != NULL) {
        found = entries[number];
    }
    lock_drop(&lock);
    return found;
}

void
names_lock(bool take)
{
    take ? lock_take(&lock) : lock_drop(&lock);
}
