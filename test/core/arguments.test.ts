import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skillJsonSchema } from '../../src/core/skill.ts'
import { TEN_YEARS } from '../../src/core/units.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'

/** Integers that are neither durations nor counts: revisions and positions. */
const UNBOUNDED = new Set(['state-set ifVersion', 'workbench-update expect', 'audit-list before'])

test('every number that a built-in skill takes has a stated maximum', () => {
  let checked = 0
  for (const skill of builtInSkills) {
    const { properties = {} } = Object(skillJsonSchema(skill))
    for (const [name, property] of Object.entries<{ type?: string; maximum?: number }>(properties)) {
      const isNumber = property.type === 'integer' || property.type === 'number'
      if (!isNumber || UNBOUNDED.has(`${skill.name} ${name}`)) continue
      checked++
      assert.ok(
        (property.maximum ?? Number.POSITIVE_INFINITY) <= TEN_YEARS,
        `${skill.name} ${name}: ${property.maximum}`,
      )
      const aboveMaximum = skill.args.safeParse({ [name]: (property.maximum ?? 0) + 1 })
      const issue = aboveMaximum.error?.issues.find(({ path }) => path[0] === name)
      assert.match(String(issue?.message), /at most|<=/, `${skill.name} ${name}`)
    }
  }
  assert.ok(checked > 20)
})
