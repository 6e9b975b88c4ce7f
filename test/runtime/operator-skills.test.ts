import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { OPERATOR_SKILLS } from '../../src/runtime/model/tools.ts'
import { createNameMatcher } from '../../src/runtime/names.ts'

test('the operator skills are the ones that docs/security.md lists', () => {
  const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')
  const [, section = ''] = /### Operator skills\n(.*?)\n## /s.exec(page) ?? []
  // `event-*` are operator skills on one topic only.
  const names = [...section.matchAll(/`([\w*-]+)`/g)].map(([, name = '']) => name)
  const listed = createNameMatcher(
    names.filter((name) => !['event-*', 'gateway-message'].includes(name)).join(' '),
  )
  const all = builtInSkills.map(({ name }) => name)
  assert.deepEqual(all.filter(listed.matches), all.filter(OPERATOR_SKILLS.matches))
})
