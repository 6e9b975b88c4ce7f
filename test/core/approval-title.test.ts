import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { renderTitle, titleFault } from '../../src/core/approval-title.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'

const schemaOf = (args: z.ZodType) => () => skillJsonSchema({ args })
const refund = schemaOf(
  z.object({ amount: z.number(), order: z.object({ id: z.string() }), note: z.string().optional() }),
)

test('a title contains arguments in braces, also nested ones; doubled braces give braces', () => {
  const args = { amount: 20.5, order: { id: '4711' }, note: '' }
  assert.equal(
    renderTitle('Refund {amount} · order {order.id} {{sic}}, {note}', args),
    'Refund 20.5 · order 4711 {sic}, (not given)',
  )
  assert.equal(renderTitle('Refund {order}', args), 'Refund {"id":"4711"}')
})

test('an unknown argument is refused with a suggestion', () => {
  assert.equal(titleFault('Refund {amount} · {order.id}', refund), undefined)
  assert.equal(titleFault('Refund {amuont}', refund), 'there is no argument "amuont"; did you mean "amount"?')
  assert.equal(titleFault('Refund {order.nr}', refund), 'there is no argument "order.nr"; known: id')
  for (const title of ['Refund {', 'Refund }', 'Refund {}', 'Refund {a b}', 'Refund {a..b}'])
    assert.notEqual(titleFault(title, refund), undefined, title)
})

test('any argument is allowed for a skill that takes any', () => {
  assert.equal(titleFault('{text} {whatever.else}', schemaOf(z.looseObject({}))), undefined)
  assert.equal(titleFault('{text} {other}', schemaOf(z.looseObject({ text: z.string() }))), undefined)
  assert.equal(titleFault('{a.b}', schemaOf(z.object({ a: z.record(z.string(), z.string()) }))), undefined)
})

test('values cannot break the line, reverse or hide text, or make a link', () => {
  const hostile = 'a\nb\r\u001b[2J\u202egnp\u200b`c` [here](http://evil.example)'
  const title = renderTitle('Pay {text}!', { text: hostile })
  assert.doesNotMatch(title, /[\p{Cc}\u200b-\u200f\u202a-\u202e`]/u)
  assert.ok(!title.includes(']('), title)
  assert.ok(title.startsWith('Pay a b '), title)
  const long = renderTitle('{text}', { text: '€'.repeat(500) })
  assert.equal([...long].length, 80)
})
