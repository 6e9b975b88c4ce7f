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

/** The issues of the skill with a value of one argument, the others being absent. */
function issuesOf({ skill, property }: (typeof argumentsOfAll)[number], value: unknown) {
  const { error } = skill.args.safeParse({ [property]: value })
  return error?.issues.filter(({ path }) => path[0] === property) ?? []
}

describe('the value of a flag', () => {
  test('is a duration or milliseconds for each time of a built-in skill', () => {
    const timed = argumentsOfAll.filter(
      ({ schema, property }) =>
        typeName(schema) === 'ms or duration' ||
        /^(for|in|every|wait|delay|lease|timeout|ttl)$/.test(property),
    )
    assert.ok(timed.length >= 15, String(timed.length))
    for (const argument of timed) {
      const { schema, property, place } = argument
      for (const text of ['2h', '30m', '60000']) {
        // An interval needs a unit.
        if (place === 'schedule-create every' && text === '60000') continue
        assert.deepEqual(issuesOf(argument, readValue(text, schema, property)), [], `${place} of ${text}`)
      }
    }
    const places = timed.map(({ place }) => place)
    for (const place of ['gateway-send in', 'conversation-pause for', 'schedule-create every'])
      assert.ok(places.includes(place), place)
  })

  test('is a text for each argument of a built-in skill that also accepts texts', () => {
    for (const { schema, place } of argumentsOfAll.filter((argument) => argument.schema.type !== 'string'))
      if (typeName(schema).includes('string')) assert.equal(readValue('2d', schema, 'x'), '2d', place)
  })

  const numberOrText = { type: ['number', 'string'] }
  const textOrList = { anyOf: [{ type: 'string' }, { type: 'array' }] }
  const textOrNull = { anyOf: [{ type: 'string' }, { type: 'null' }] }
  for (const [text, schema, expected] of [
    ['5', numberOrText, 5],
    ['{"a":1}', numberOrText, '{"a":1}'],
    ['"5"', numberOrText, '"5"'],
    ['12', textOrList, '12'],
    ['["a"]', textOrList, ['a']],
    ['12', textOrNull, '12'],
    ['null', textOrNull, null],
  ] as const)
    test(`is one of the types ${typeName(schema)} for ${text}`, () => {
      assert.deepEqual(readValue(text, schema, 'x'), expected)
    })
})
