import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { isClassified } from '../../src/runtime/annotations.ts'

test('each built-in skill is classified', () => {
  for (const { name } of builtInSkills)
    assert.ok(
      isClassified(name),
      `Add ${name} to READ_ONLY, IDEMPOTENT, DESTRUCTIVE or HARMLESS of src/runtime/annotations.ts: MCP clients, models and the audit log rely on it. ` +
        'If it works without a daemon, or has an argument that names something, see also src/cli/store-only.ts and src/cli/known-names.ts.',
    )
})

test('a skill that changes something says whether it destroys something', () => {
  const hintOf = (name: string) => builtInSkills.find((skill) => skill.name === name)?.metadata?.annotations
  assert.deepEqual(hintOf('person-erase'), { destructiveHint: true })
  assert.deepEqual(hintOf('remember'), { destructiveHint: false })
  assert.deepEqual(hintOf('message-list'), { readOnlyHint: true })
})
