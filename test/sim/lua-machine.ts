// The Lua 5.1 of wasmoon-lua5.1 without the JavaScript that comes with it, whose checks at each
// call make worlds a quarter slower. Files, clocks and an environment are not there.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Node has it; the types of Node do not. */
interface WebAssembly {
  readonly Module: {
    new (code: Uint8Array): object;
    imports(module: object): readonly { readonly module: string; readonly name: string }[];
  };
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}

interface Table {
  get(index: number): (...args: number[]) => void;
  set(index: number, value: unknown): void;
  grow(count: number): number;
}

/** The part of Lua's interface for C that is used here. Pointers and states are numbers. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pageCount: number): number };
  readonly __indirect_function_table: Table;
  malloc(byteCount: number): number;
  free(pointer: number): void;
  luaL_loadbuffer(state: number, text: number, byteCount: number, name: number): number;
  luaL_newstate(): number;
  luaL_ref(state: number, table: number): number;
  luaL_unref(state: number, table: number, reference: number): void;
  luaopen_base(state: number): number;
  luaopen_math(state: number): number;
  luaopen_string(state: number): number;
  luaopen_table(state: number): number;
  lua_createtable(state: number, items: number, fields: number): void;
  lua_error(state: number): number;
  lua_gc(state: number, what: number, value: number): number;
  lua_getfield(state: number, at: number, name: number): void;
  lua_gettop(state: number): number;
  lua_pcall(state: number, args: number, results: number, handler: number): number;
  lua_pushboolean(state: number, value: number): void;
  lua_pushcclosure(state: number, callback: number, valueCount: number): void;
  lua_pushlstring(state: number, text: number, byteCount: number): void;
  lua_pushnumber(state: number, value: number): void;
  lua_pushvalue(state: number, at: number): void;
  lua_rawgeti(state: number, at: number, index: number): void;
  lua_rawseti(state: number, at: number, index: number): void;
  lua_setfield(state: number, at: number, name: number): void;
  lua_settop(state: number, top: number): void;
  lua_toboolean(state: number, at: number): number;
  lua_tolstring(state: number, at: number, byteCount: number): number;
  lua_tonumber(state: number, at: number): number;
  lua_type(state: number, at: number): number;
}

/** What a program that emscripten has compiled wants to have done before its first call. */
interface Start {
  emscripten_stack_init(): void;
  __wasm_call_ctors(): void;
}

/** How it leaves functions for an error of Lua: emscripten's setjmp and longjmp. */
interface Jumps {
  stackSave(): number;
  stackRestore(stack: number): void;
  setThrew(threw: number, value: number): void;
}

/** Called by Lua with the state; what it returns is how many results it has pushed. */
export type LuaFunction = (state: number) => number;

export interface LuaMachine extends Exports {
  /** Its memory, which moves when it grows. */
  readonly bytes: Buffer<ArrayBuffer>;
  /** A number by which Lua calls this. */
  functionOf(call: LuaFunction): number;
}

const pageBytes = 65_536;
const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssembly })
  .WebAssembly;
/** A longjmp: any number that is thrown. */
const jump = Number.POSITIVE_INFINITY;

export function luaMachine(): LuaMachine {
  const file = createRequire(import.meta.url).resolve('wasmoon-lua5.1/dist/liblua5.1.wasm');
  const module = new Module(readFileSync(file));
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: part, name } of Module.imports(module)) {
    const absent = () => {
      throw new Error(`Lua calls ${name}, which no script needs`);
    };
    imports[part] = { ...imports[part], [name]: absent };
  }
  const functions: ((...args: number[]) => void)[] = [];
  Object.assign(imports.env as object, {
    emscripten_memcpy_js(to: number, from: number, byteCount: number) {
      machine.bytes.copyWithin(to, from, from + byteCount);
    },
    emscripten_resize_heap(byteCount: number) {
      lua.memory.grow(Math.ceil((byteCount - machine.bytes.length) / pageBytes));
      machine.bytes = Buffer.from(lua.memory.buffer);
      return 1;
    },
    _emscripten_throw_longjmp() {
      throw jump;
    },
    invoke_vii(index: number, first: number, second: number) {
      const stack = lua.stackSave();
      const called = functions[index] ?? lua.__indirect_function_table.get(index);
      functions[index] = called;
      try {
        called(first, second);
      } catch (error) {
        lua.stackRestore(stack);
        if (error !== jump) throw error;
        lua.setThrew(1, 0);
      }
    },
  });
  Object.assign(imports.wasi_snapshot_preview1 as object, {
    environ_sizes_get(count: number, byteCount: number) {
      machine.bytes.writeUInt32LE(0, count);
      machine.bytes.writeUInt32LE(0, byteCount);
      return 0;
    },
    environ_get: () => 0,
  });
  const instance = new Instance(module, imports);
  const lua = instance.exports as unknown as Exports & Start & Jumps;
  const functionOf = (call: LuaFunction) => {
    const index = lua.__indirect_function_table.grow(1);
    lua.__indirect_function_table.set(index, asWebAssembly(call));
    return index;
  };
  const machine = { ...lua, bytes: Buffer.from(lua.memory.buffer), functionOf };
  lua.emscripten_stack_init();
  lua.__wasm_call_ctors();
  return machine;
}

/** A table of WebAssembly takes its own functions only: a module that exports what it imports. */
function asWebAssembly(call: LuaFunction): unknown {
  const [i32, functionType] = [0x7f, 0x60];
  const bytes = [
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...[1, 6, 1, functionType, 1, i32, 1, i32],
    ...[2, 7, 1, 1, 0x65, 1, 0x66, 0, 0],
    ...[7, 5, 1, 1, 0x66, 0, 0],
  ];
  const module = new Module(new Uint8Array(bytes));
  return (new Instance(module, { e: { f: call } }).exports as { readonly f: unknown }).f;
}
