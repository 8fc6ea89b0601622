#ifndef AUGUR_AUGUR_H
#define AUGUR_AUGUR_H
/* The stable C interface. The headers that this one includes hold its parts; docs/c_interface.md lists what
 * each part of the C++ interface is here.
 *
 * Failures: no function throws or aborts. A call fails by its value: NULL, or -1. Then augur_last_error() of
 * the same thread has a message for people, augur_last_error_kind() and augur_last_error_field() have the
 * details for programs.
 *
 * Handles: augur_engine, augur_result and the other incomplete types. Whoever is given a handle frees it with
 * the function that its type's comment names; that function ignores NULL. Handles are numbers and not
 * addresses: one that was freed, is of another type, or never was one, is refused as AUGUR_ERROR_MISUSE.
 *
 * Structs that the caller fills begin with their size; make them with the *_default functions (or *_init with
 * the size of your struct), then change what you need. Fields that an older caller does not have keep their
 * defaults. What a newer caller sets behind the fields that this library knows is refused as
 * AUGUR_ERROR_REFUSED_FIELD. Arrays of structs come with the size of their elements. The library copies what
 * it is given before a call returns; only callbacks, their `user`, and handles must stay for longer.
 *
 * Structs that the library fills (the *_get_* functions) begin with `size`, too; the caller sets it first.
 * The fields that both know are written, and what is behind them is 0. Their texts and arrays live as long as
 * the object that they were got from. Structs that callbacks get, and what they point to, are valid during
 * the call.
 *
 * Texts are UTF-8 and end in a zero byte. Functions that write a text or tokens to the caller's memory write
 * at most `capacity` bytes (a text's end included) or tokens, and return how many there are without the end;
 * NULL with capacity 0 asks for that alone.
 *
 * Threads: functions that only read an engine (augur_tokenize(), augur_engine_get_info(), augur_render_chat()
 * and their neighbours) may be called from any thread at any time, also while the engine generates or a
 * session uses it. augur_generate(), augur_generate_many(), augur_engine_forget(),
 * augur_engine_measure_costs() and those of augur/c/text_outputs.h may be called by one thread at a time, and
 * by none while a session uses the engine. All functions of sessions, tickets, results and cancel tokens may
 * be called from any thread; their objects end once the calls that use them have returned. A call that breaks
 * these rules, or that a callback must not make, fails at once with AUGUR_ERROR_MISUSE. So does every call
 * that needs threads in a child of fork(), which has none of them. No function may be called in a signal
 * handler.
 *
 * The caller's rounding mode, treatment of denormal numbers and locale do not change results. */
#include "augur/c/drafter.h"
#include "augur/c/engine.h"
#include "augur/c/error.h"
#include "augur/c/library.h"
#include "augur/c/memory_estimate.h"
#include "augur/c/model.h"
#include "augur/c/policy.h"
#include "augur/c/request.h"
#include "augur/c/result.h"
#include "augur/c/session.h"
#include "augur/c/text_outputs.h"
#include "augur/version.h"

#endif
