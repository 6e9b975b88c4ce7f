import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { wholeText } from '../../src/lib/printed.ts'

const pause = {
  kind: 'route',
  name: 'confirm-orders',
  since: Date.now() - 3_600_000,
  waiting: 12,
  reason: 'a wave of spam from one sender',
  by: 'oidc:ingrid@kitchen.example',
}

test('a list of pauses says at any width who paused and why', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const at = (width: number) => {
    process.stdout.columns = width
    return wholeText(humanResult('pause-list', [pause], {}, true))
  }
  assert.match(at(80), /confirm-orders .* 12\n {2}ingrid@kitchen.example: a wave of spam from one sender\n/)
  assert.match(at(140), /confirm-orders .* 12\s+ingrid@kitchen.example\s+a wave of spam from one sender\n/)
  for (const width of [48, 80, 140]) assert.match(at(width), /wave of spam/)
})

test('a list of several pauses names the form of the command that ends one, and none of them', () => {
  const gateway = { kind: 'gateway', name: 'returns', since: Date.now(), by: 'control-token:Tomas Berg' }
  const taken = { ...gateway, kind: 'conversation', gateway: 'returns', name: 'mail-1' }
  const shown = wholeText(humanResult('pause-list', [pause, gateway, taken], {}, true)).replaceAll('\n', ' ')
  assert.match(
    shown,
    /To end one: `trivium route resume NAME`, `trivium gateway resume NAME`, `trivium conversation hand back NAME`$/,
  )
  assert.match(
    wholeText(humanResult('pause-list', [gateway], {}, true)),
    /To end it: `trivium gateway resume returns`$/,
  )
})

test('lists in a wide terminal show long reasons and details whole', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  process.stdout.columns = 140
  const reason =
    'the provider of the labels has had an incident since this morning, and their engineers call back when it is over'
  const words = (text: string) => text.replaceAll(/\s+/g, ' ')
  const long = { ...pause, reason }
  const routes = [
    { name: 'confirm-orders', match: { gateway: 'shop' }, target: 'skill', to: 'confirm', paused: long },
  ]
  const entry = { id: 'a1', at: Date.now(), by: 'ada', via: 'cli', action: 'route-pause', status: 'done' }
  const entries = [{ ...entry, outcome: 'ok', target: { route: 'confirm-orders', reason } }]
  const lists = { 'pause-list': [long], 'route-list': routes, 'audit-list': { entries } }
  for (const [name, result] of Object.entries(lists)) {
    const text = wholeText(humanResult(name, result, {}, true))
    assert.doesNotMatch(text, /…/, name)
    for (const word of reason.split(' ')) assert.ok(words(text).includes(word), `${name}: ${word}`)
    for (const line of text.split('\n')) assert.ok(line.length <= 140, line)
  }
})
