import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as lifetimes from '../../../src/core/lifetimes.ts'

const PREAMBLE = new URL('../../../src/stores/redis/lua/lib/preamble.lua', import.meta.url)

test('the scripts of Redis have the lifetimes of core/lifetimes.ts, in seconds', () => {
  const [, names = '', values = ''] =
    /^local ((?:\w+_TTL(?:, )?)+) = ([\d, ]+)$/m.exec(readFileSync(PREAMBLE, 'utf8')) ?? []
  const ofScripts = new Map(names.split(', ').map((name, at) => [name, Number(values.split(', ')[at])]))
  const ofCore = Object.entries(lifetimes)
    .filter(([name]) => name.endsWith('_TTL'))
    .map(([name, ms]): [string, number] => [name, ms / 1_000])
  assert.deepEqual(ofScripts, new Map(ofCore))
})
