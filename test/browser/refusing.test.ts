import assert from 'node:assert/strict'
import { test } from 'node:test'

const { refusesAll, refusesNow, unpulledOf } = await import(
  new URL('../../src/console/lib/refusing.js', import.meta.url).href
)

const traffic = (accepted: number[], refused: number[]) => {
  const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0)
  const all = sum(accepted) + sum(refused)
  return { refused: sum(refused), errorShare: sum(refused) / all, minutes: { accepted, refused } }
}
const trouble = (severity: string) => [{ code: 'refusals', where: { gateway: 'shop' }, severity }]

test('a gateway with ten refusals or more refuses before the troubles are read, until it accepts again', () => {
  assert.equal(refusesNow({ name: 'shop' }, traffic([3, 0, 0], [0, 0, 12]), []), true)
  assert.equal(refusesNow({ name: 'shop' }, traffic([0, 0, 5], [12, 3, 0]), []), false)
  assert.equal(refusesNow({ name: 'shop' }, traffic([0, 0, 0], [0, 0, 4]), []), true)
  assert.equal(refusesNow({ name: 'shop' }, traffic([0, 0, 5], [12, 3, 0]), undefined), true)
})

test('the troubles decide once they have an entry', () => {
  assert.equal(refusesNow({ name: 'shop' }, traffic([3, 0, 0], [0, 0, 12]), trouble('info')), false)
  assert.equal(refusesNow({ name: 'shop' }, traffic([0, 0, 5], [12, 3, 0]), trouble('error')), true)
  assert.equal(refusesNow({ name: 'shop' }, undefined, trouble('error')), false)
})

test('the daemon decides whether a gateway has recovered', () => {
  const recovered = { name: 'shop', recovered: 'accepts deliveries again' }
  assert.equal(refusesNow(recovered, traffic([0, 0, 5], [0, 0, 12]), []), false)
})

test('a gateway refuses all deliveries even if it accepted some within the hour, before the refusals', () => {
  const hour = traffic([1, 0, 0], [0, 0, 12])
  const titled = (title: string) => trouble('error').map((one) => ({ ...one, title }))
  assert.equal(refusesAll('shop', hour, titled('Gateway shop refuses every delivery')), true)
  assert.equal(refusesAll('shop', hour, titled('Gateway shop refuses most deliveries')), false)
  assert.equal(refusesAll('desk', hour, titled('Gateway shop refuses every delivery')), false)
  assert.equal(refusesAll('shop', traffic([0], [3]), undefined), true)
})

test('a gateway whose workers stopped has a trouble of the receive road', () => {
  const of = (road: string) => [{ code: 'backlog', where: { gateway: 'shop', road }, count: 62 }]
  assert.equal(unpulledOf('shop', of('receive'))?.count, 62)
  assert.equal(unpulledOf('shop', of('dispatch')), undefined)
  assert.equal(unpulledOf('desk', of('receive')), undefined)
})
