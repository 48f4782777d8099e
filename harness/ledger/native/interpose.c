/* Finds the relocation slots through which torch's core libraries call c10::alloc_cpu and c10::free_cpu, puts our
 * hooks there, and puts back what was there before. Only these two: the malloc family's slots are memray's. */
#define _GNU_SOURCE
#include "ledger.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALLOC_NAME "_ZN3c109alloc_cpuEm"
#define FREE_NAME "_ZN3c108free_cpuEPv"
#define FAIL_NAME "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"
#define MOST_SLOTS 32

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#error "the native ledger knows x86-64 and aarch64"
#endif

typedef struct {
    _Atomic uintptr_t *at;
    uintptr_t before;
    uintptr_t ours;
    bool is_protected; /* in RELRO: read-only since the library was loaded */
} slot;

typedef struct {
    uintptr_t base, relro_first, relro_last;
    const ElfW(Sym) * symbols;
    const char *strings;
} library;

torch_functions original;

static slot slots[MOST_SLOTS];
static int slot_count;
static bool too_many;
static bool ours_left_behind;

static bool
is_torchs(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strcmp(name, "libc10.so") == 0 || strcmp(name, "libtorch_cpu.so") == 0;
}

static void
note_slot(const library *lib, ElfW(Addr) offset, uintptr_t ours)
{
    if (slot_count == MOST_SLOTS) {
        too_many = true;
        return;
    }
    uintptr_t at = lib->base + offset;
    slots[slot_count++] = (slot){
        .at = (_Atomic uintptr_t *)at,
        .ours = ours,
        .is_protected = at >= lib->relro_first && at < lib->relro_last,
    };
}

static void
search(const library *lib, const ElfW(Rela) * relocations, size_t bytes)
{
    for (size_t i = 0; relocations != NULL && i < bytes / sizeof(*relocations); i++) {
        if (!IS_SLOT(ELF64_R_TYPE(relocations[i].r_info))) {
            continue;
        }
        const char *name = lib->strings + lib->symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;
        if (strcmp(name, ALLOC_NAME) == 0) {
            note_slot(lib, relocations[i].r_offset, (uintptr_t)hook_alloc);
        } else if (strcmp(name, FREE_NAME) == 0) {
            note_slot(lib, relocations[i].r_offset, (uintptr_t)hook_free);
        }
    }
}

static void
read_dynamic(library *lib, const ElfW(Dyn) * dynamic)
{
    const ElfW(Rela) *plt = NULL, *others = NULL;
    size_t plt_bytes = 0, others_bytes = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) { /* glibc has made these addresses absolute */
        case DT_SYMTAB: lib->symbols = (const void *)dynamic->d_un.d_ptr; break;
        case DT_STRTAB: lib->strings = (const void *)dynamic->d_un.d_ptr; break;
        case DT_JMPREL: plt = (const void *)dynamic->d_un.d_ptr; break;
        case DT_PLTRELSZ: plt_bytes = dynamic->d_un.d_val; break;
        case DT_RELA: others = (const void *)dynamic->d_un.d_ptr; break;
        case DT_RELASZ: others_bytes = dynamic->d_un.d_val; break;
        default: break;
        }
    }
    if (lib->symbols != NULL && lib->strings != NULL) {
        search(lib, plt, plt_bytes);
        search(lib, others, others_bytes);
    }
}

static void
find_originals(const char *path)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) {
        return;
    }
    original.alloc = (alloc_function)dlsym(handle, ALLOC_NAME);
    original.free = (free_function)dlsym(handle, FREE_NAME);
    original.fail = (fail_function)dlsym(handle, FAIL_NAME);
    dlclose(handle);
}

static int
visit(struct dl_phdr_info *info, size_t size, void *path_of_c10)
{
    (void)size;
    if (!is_torchs(info->dlpi_name)) {
        return 0;
    }
    if (strstr(info->dlpi_name, "libc10.so") != NULL) {
        *(const char **)path_of_c10 = info->dlpi_name;
    }
    library lib = {.base = info->dlpi_addr};
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC) {
            dynamic = (const void *)at;
        } else if (part->p_type == PT_GNU_RELRO) {
            uintptr_t in_page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
            lib.relro_first = at & ~in_page;
            lib.relro_last = (at + part->p_memsz) & ~in_page; /* the loader leaves a last part of a page writable */
        }
    }
    if (dynamic != NULL) {
        read_dynamic(&lib, dynamic);
    }
    return 0;
}

static bool
write_slot(const slot *where, uintptr_t value)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)where->at & ~(page_bytes - 1));
    if (where->is_protected && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    atomic_store(where->at, value); /* other threads call through it right now */
    if (where->is_protected) {
        mprotect(page, page_bytes, PROT_READ);
    }
    return true;
}

/* What a slot leads to. One that was never called yet leads to its library's own resolver, which would overwrite us:
 * that is the function itself, as far as we are concerned. */
static uintptr_t
leads_to(const slot *where)
{
    uintptr_t value = atomic_load(where->at);
    uintptr_t real = where->ours == (uintptr_t)hook_alloc ? (uintptr_t)original.alloc : (uintptr_t)original.free;
    Dl_info of_slot, of_value;
    if (value != real && dladdr((void *)where->at, &of_slot) && dladdr((void *)value, &of_value) &&
        of_slot.dli_fbase == of_value.dli_fbase) {
        return real;
    }
    return value;
}

/* Another tool may stand in the slots already: then we call through to it, if it is the same one everywhere. */
static const char *
agree(void)
{
    uintptr_t alloc = 0, release = 0;
    for (int i = 0; i < slot_count; i++) {
        uintptr_t *seen = slots[i].ours == (uintptr_t)hook_alloc ? &alloc : &release;
        uintptr_t now = leads_to(&slots[i]);
        if (*seen != 0 && *seen != now) {
            return "torch's allocation slots lead to different functions: another tool holds some of them";
        }
        *seen = now;
    }
    if (alloc == 0 || release == 0) {
        return "torch's libraries do not import c10::alloc_cpu and c10::free_cpu";
    }
    if (ours_left_behind && alloc != (uintptr_t)original.alloc) {
        return "another tool took torch's allocation slots over from an earlier ledger and may still call through it";
    }
    original.alloc = (alloc_function)alloc;
    original.free = (free_function)release;
    return NULL;
}

const char *
slots_take(void)
{
    const char *path_of_c10 = NULL;
    slot_count = 0;
    too_many = false;
    dl_iterate_phdr(visit, &path_of_c10);
    if (path_of_c10 == NULL) {
        return "torch's libc10.so is not loaded";
    }
    find_originals(path_of_c10);
    if (original.alloc == NULL || original.free == NULL || too_many) {
        return "this torch does not export c10::alloc_cpu and c10::free_cpu as expected";
    }
    const char *why = agree();
    for (int i = 0; why == NULL && i < slot_count; i++) {
        slots[i].before = atomic_load(slots[i].at);
        if (!write_slot(&slots[i], slots[i].ours)) {
            slot_count = i;
            slots_give_back();
            why = "the pages of torch's allocation slots cannot be made writable here";
        }
    }
    return why;
}

int
slots_give_back(void)
{
    int lost = 0;
    for (int i = 0; i < slot_count; i++) {
        if (atomic_load(slots[i].at) != slots[i].ours || !write_slot(&slots[i], slots[i].before)) {
            lost++;
        }
    }
    ours_left_behind = ours_left_behind || lost > 0;
    return lost;
}

int
slots_lost(void)
{
    int lost = 0;
    for (int i = 0; i < slot_count; i++) {
        lost += atomic_load(slots[i].at) != slots[i].ours;
    }
    return lost;
}

int
slots_count(void)
{
    return slot_count;
}

/* For tests: (address of the slot, what was there before, what we put there, is it write-protected) for each. */
PyObject *
slots_as_python(void)
{
    PyObject *list = PyList_New(slot_count);
    for (int i = 0; list != NULL && i < slot_count; i++) {
        PyObject *item = Py_BuildValue("(KKKO)", (unsigned long long)(uintptr_t)slots[i].at,
                                       (unsigned long long)slots[i].before, (unsigned long long)slots[i].ours,
                                       slots[i].is_protected ? Py_True : Py_False);
        if (item == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, item);
    }
    return list;
}
