import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolNameOf } from '../../src/runtime/names.ts'

test('no two skills have the same tool name', () => {
  const long = 'x'.repeat(80)
  const skills = ['s.a.b', 's.a__b', 's__a.b', 's.a_.b', 's.a._b', `s.${long}.b`, `s.${long}__b`, 's.a___b']
  const tools = skills.map(toolNameOf)
  assert.equal(new Set(tools).size, skills.length, String(tools))
  for (const tool of tools) assert.match(tool, /^[\w-]{1,64}$/)
  assert.equal(toolNameOf('files.read'), 'files__read')
  assert.equal(toolNameOf('files.read_text_file'), 'files__read_text_file')
})
