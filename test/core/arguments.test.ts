import assert from 'node:assert/strict'
import { test } from 'node:test'
import { futureTime } from '../../src/core/future-time.ts'
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

test('a time for something planned is an ISO time, or the next such time of day in UTC', () => {
  const monday = Date.UTC(2026, 10, 30, 15, 30)
  const at = (text: string) => {
    const time = futureTime(text, monday)
    return time === undefined ? undefined : new Date(time).toISOString().slice(0, 16)
  }
  assert.equal(at('16:00'), '2026-11-30T16:00')
  assert.equal(at('14:00'), '2026-12-01T14:00')
  assert.equal(at('monday 9:30'), '2026-12-07T09:30')
  assert.equal(at('2026-12-24T18:00:00+01:00'), '2026-12-24T17:00')
  assert.equal(at('2026-12-24T18:00'), '2026-12-24T18:00')
  for (const text of ['8', 'yesterday 10', 'today', 'soon', '2027-02-31T10:00', '2h'])
    assert.equal(at(text), undefined, text)
})
