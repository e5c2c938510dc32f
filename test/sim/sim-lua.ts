// Lua as a Redis server has it: 5.1, compiled to WebAssembly, one machine for all servers of this
// process. A script is compiled once. What it may call is given with each run; between two runs
// nothing is left but the compiled scripts.

import { type LuaFunction, type LuaMachine, luaMachine } from './lua-machine.ts';

export interface Status {
  readonly ok: string;
}

export interface Failure {
  readonly err: string;
}

/** What a command replies, and a script returns. null: nothing is there. */
export type Reply = string | number | null | Status | Failure | readonly Reply[];

/** Executes a command on a server, for `redis.call` and `redis.pcall`. */
export type Call = (command: readonly string[]) => Reply;

const types = { nil: 0, boolean: 1, number: 3, string: 4, table: 5 };
const registry = -10_000;
/** For lua_gc: how much the memory grows until what is unused is looked for, in percent. */
const setPause = 6;
/** How many texts are kept for the next scripts. */
const mostTexts = 5_000;

/**
 * What a script finds, and what it does not: no file, no clock, no chance, and no variable that
 * would outlive it. A failed `redis.call` throws what `redis.pcall` returns.
 */
const prelude = `
local call, pcall_command = ...
redis = {call = call, pcall = pcall_command}
math.random, math.randomseed = nil, nil
for _, name in ipairs({'coroutine', 'dofile', 'loadfile', 'newproxy', 'print'}) do
  _G[name] = nil
end
setmetatable(_G, {
  __newindex = function(_, name) error('a script sets the global variable ' .. name, 2) end,
  __index = function(_, name) error('a script reads the global variable ' .. name, 2) end,
})
return function(script, keys, args)
  rawset(_G, 'KEYS', keys)
  rawset(_G, 'ARGV', args)
  return script()
end`;

class Lua {
  readonly #lua: LuaMachine;
  readonly #state: number;
  readonly #scripts = new Map<string, number>();
  readonly #run: number;
  readonly #names: { readonly ok: number; readonly err: number; readonly script: number };
  readonly #length: number;
  /** References to texts that Lua has, most of which come again and again; the texts by address. */
  readonly #references = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  #scratch: number;
  #scratchBytes = 4_096;
  #call: Call = () => null;
  #failure: { readonly error: unknown } | null = null;

  constructor(lua: LuaMachine) {
    this.#lua = lua;
    this.#scratch = lua.malloc(this.#scratchBytes);
    this.#length = lua.malloc(4);
    const [ok, err, script] = ['ok', 'err', '@user_script'].map((name) => this.#named(name));
    this.#names = { ok, err, script } as { ok: number; err: number; script: number };
    this.#state = lua.luaL_newstate();
    lua.lua_gc(this.#state, setPause, 1_000);
    for (const library of ['base', 'math', 'string', 'table'] as const)
      lua[`luaopen_${library}`](this.#state);
    lua.lua_settop(this.#state, 0);
    this.#load(prelude);
    this.#pushFunction(() => this.#answer(true));
    this.#pushFunction(() => this.#answer(false));
    if (lua.lua_pcall(this.#state, 2, 1, 0) !== 0) throw new Error(this.#textAt(-1));
    this.#run = lua.luaL_ref(this.#state, registry);
  }

  /** Throws where Lua itself fails: a script that ships does not. */
  run(text: string, keys: readonly string[], args: readonly string[], call: Call): Reply {
    const [lua, state] = [this.#lua, this.#state];
    const script = this.#scriptOf(text);
    lua.lua_rawgeti(state, registry, this.#run);
    lua.lua_rawgeti(state, registry, script);
    this.#push(keys);
    this.#push(args);
    this.#call = call;
    const isThrown = lua.lua_pcall(state, 3, 1, 0) !== 0;
    const failure = this.#failure;
    this.#failure = null;
    const reply = failure === null ? this.#replyAt(1) : null;
    lua.lua_settop(state, 0);
    if (failure !== null) throw failure.error;
    if (isThrown && typeof reply === 'string') throw new Error(`${reply}, in:\n${text}`);
    return reply;
  }

  #scriptOf(text: string): number {
    const known = this.#scripts.get(text);
    if (known !== undefined) return known;
    this.#load(text);
    const script = this.#lua.luaL_ref(this.#state, registry);
    this.#scripts.set(text, script);
    for (const [, literal = ''] of text.matchAll(/'([^'\\]*)'/g)) {
      this.#pushText(literal);
      this.#lua.lua_settop(this.#state, 0);
    }
    return script;
  }

  #load(text: string): void {
    const byteCount = this.#write(text);
    const { script } = this.#names;
    if (this.#lua.luaL_loadbuffer(this.#state, this.#scratch, byteCount, script) !== 0)
      throw new Error(this.#textAt(-1));
  }

  #pushFunction(call: LuaFunction): void {
    this.#lua.lua_pushcclosure(this.#state, this.#lua.functionOf(call), 0);
  }

  /** A command of a script: its words are on the stack. */
  #answer(isErrorThrown: boolean): number {
    const [lua, state] = [this.#lua, this.#state];
    const count = lua.lua_gettop(state);
    const command: string[] = [];
    // As Redis does, which does not leave numbers to Lua: that keeps 14 digits.
    for (let at = 1; at <= count; at += 1) {
      const isNumber = lua.lua_type(state, at) === types.number;
      command.push(isNumber ? String(lua.lua_tonumber(state, at)) : this.#textAt(at));
    }
    const reply = this.#replyTo(command);
    this.#push(reply);
    return isErrorThrown && isFailure(reply) ? lua.lua_error(state) : 1;
  }

  #replyTo(command: readonly string[]): Reply {
    try {
      return this.#call(command);
    } catch (error) {
      this.#failure ??= { error };
      return { err: String(error) };
    }
  }

  #push(reply: Reply): void {
    const [lua, state] = [this.#lua, this.#state];
    if (reply === null) {
      lua.lua_pushboolean(state, 0);
    } else if (typeof reply === 'number') {
      lua.lua_pushnumber(state, reply);
    } else if (typeof reply === 'string') {
      this.#pushText(reply);
    } else if ('ok' in reply || 'err' in reply) {
      const [name, text] =
        'ok' in reply
          ? ([this.#names.ok, reply.ok] as const)
          : ([this.#names.err, reply.err] as const);
      lua.lua_createtable(state, 0, 1);
      this.#push(text);
      lua.lua_setfield(state, -2, name);
    } else {
      lua.lua_createtable(state, reply.length, 0);
      for (let index = 0; index < reply.length; index += 1) {
        this.#push(reply[index] as Reply);
        lua.lua_rawseti(state, -2, index + 1);
      }
    }
  }

  #pushText(text: string): void {
    const [lua, state] = [this.#lua, this.#state];
    const reference = this.#references.get(text);
    if (reference !== undefined) return lua.lua_rawgeti(state, registry, reference);
    lua.lua_pushlstring(state, this.#scratch, this.#write(text));
    if (this.#references.size >= mostTexts) this.#forgetTexts();
    lua.lua_pushvalue(state, -1);
    this.#references.set(text, lua.luaL_ref(state, registry));
    this.#texts.set(lua.lua_tolstring(state, -1, 0), text);
  }

  #forgetTexts(): void {
    for (const reference of this.#references.values())
      this.#lua.luaL_unref(this.#state, registry, reference);
    this.#references.clear();
    this.#texts.clear();
  }

  /** As Redis replies: whole numbers, 1 for true, and of a table what is before its first nil. */
  #replyAt(at: number): Reply {
    const [lua, state] = [this.#lua, this.#state];
    switch (lua.lua_type(state, at)) {
      case types.string:
        return this.#textAt(at);
      case types.number:
        return Math.trunc(lua.lua_tonumber(state, at));
      case types.boolean:
        return lua.lua_toboolean(state, at) === 1 ? 1 : null;
      case types.table:
        return this.#tableAt(at);
      default:
        return null;
    }
  }

  #tableAt(at: number): Reply {
    const [lua, state] = [this.#lua, this.#state];
    const top = lua.lua_gettop(state);
    for (const name of ['err', 'ok'] as const) {
      lua.lua_getfield(state, at, this.#names[name]);
      const text = lua.lua_type(state, -1) === types.string ? this.#textAt(-1) : null;
      lua.lua_settop(state, top);
      if (text !== null) return name === 'ok' ? { ok: text } : { err: text };
    }
    const items: Reply[] = [];
    for (let index = 1; ; index += 1) {
      lua.lua_rawgeti(state, at, index);
      const isOver = lua.lua_type(state, -1) === types.nil;
      if (!isOver) items.push(this.#replyAt(top + 1));
      lua.lua_settop(state, top);
      if (isOver) return items;
    }
  }

  #textAt(at: number): string {
    const lua = this.#lua;
    const start = lua.lua_tolstring(this.#state, at, this.#length);
    const known = this.#texts.get(start);
    if (known !== undefined) return known;
    const byteCount = lua.bytes.readUInt32LE(this.#length);
    return lua.bytes.toString('utf8', start, start + byteCount);
  }

  /** Writes the text to the scratch memory; returns its bytes. */
  #write(text: string): number {
    if (text.length * 3 > this.#scratchBytes) {
      this.#lua.free(this.#scratch);
      this.#scratchBytes = text.length * 3;
      this.#scratch = this.#lua.malloc(this.#scratchBytes);
    }
    return this.#lua.bytes.write(text, this.#scratch, 'utf8');
  }

  #named(name: string): number {
    const pointer = this.#lua.malloc(name.length + 1);
    this.#lua.bytes.write(`${name}\0`, pointer, 'latin1');
    return pointer;
  }
}

function isFailure(reply: Reply): reply is Failure {
  return reply !== null && typeof reply === 'object' && 'err' in reply;
}

export const lua = new Lua(luaMachine());
