import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readValue, typeName } from '../../src/cli/skill-value.ts'
import { isJsonObject } from '../../src/core/json.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'

const argumentsOfAll = builtInSkills.flatMap((skill) => {
  const { properties } = skillJsonSchema(skill)
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([property, schema]) =>
    isJsonObject(schema) ? [{ skill, place: `${skill.name} ${property}`, property, schema }] : [],
  )
})

/** What the skill says of one argument alone. */
function complaints({ skill, property }: (typeof argumentsOfAll)[number], value: unknown) {
  const { error } = skill.args.safeParse({ [property]: value })
  return error?.issues.filter(({ path }) => path[0] === property) ?? []
}

describe('the value of a flag', () => {
  test('is a duration or milliseconds wherever a built-in skill takes a time', () => {
    const timed = argumentsOfAll.filter(
      (one) =>
        typeName(one.schema) === 'ms or duration' ||
        /^(for|in|every|wait|delay|lease|timeout|ttl)$/.test(one.property),
    )
    assert.ok(timed.length >= 15, String(timed.length))
    for (const one of timed) {
      for (const text of ['2h', '30m', '60000']) {
        const value = readValue(text, one.schema, one.property)
        // An interval is written with its unit.
        if (one.place === 'schedule-create every' && text === '60000') continue
        assert.deepEqual(complaints(one, value), [], `${one.place} of ${text}`)
      }
    }
    const places = timed.map(({ place }) => place)
    for (const place of ['gateway-send in', 'conversation-pause for', 'schedule-create every'])
      assert.ok(places.includes(place), place)
  })

  test('of every union of types is read as one of them', () => {
    for (const { schema, place } of argumentsOfAll.filter((one) => one.schema.type !== 'string'))
      if (typeName(schema).includes('string')) assert.equal(readValue('2d', schema, 'x'), '2d', place)
    const numberOrText = { type: ['number', 'string'] }
    assert.equal(readValue('5', numberOrText, 'x'), 5)
    assert.equal(readValue('{"a":1}', numberOrText, 'x'), '{"a":1}')
    assert.equal(readValue('"5"', numberOrText, 'x'), '"5"')
    const textOrList = { anyOf: [{ type: 'string' }, { type: 'array' }] }
    assert.equal(readValue('12', textOrList, 'x'), '12')
    assert.deepEqual(readValue('["a"]', textOrList, 'x'), ['a'])
    assert.equal(readValue('12', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'x'), '12')
    assert.equal(readValue('null', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'x'), null)
  })
})
