import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { isClassified } from '../../src/runtime/annotations.ts'

test('each built-in skill says whether it reads, may be repeated, destroys, or changes something', () => {
  for (const { name } of builtInSkills)
    assert.ok(
      isClassified(name),
      `Add ${name} to READS, REPEATS, DESTROYS or CHANGES of src/runtime/annotations.ts: MCP clients, models and the audit log rely on it. ` +
        'If it works without a daemon, or has an argument that names something, see also src/cli/store-only.ts and src/cli/known-names.ts.',
    )
})
