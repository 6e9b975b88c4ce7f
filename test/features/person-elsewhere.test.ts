import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  support: { transport: websocket, path: /support, open: true }
  shop: { transport: websocket, path: /shop, open: true }
  team: { transport: websocket, path: /team, open: true }
routes: [{ name: all, skill: echo, reply: none }]
`
const ADA = 'ada@example.com'
/** Without a gateway, it would be taken for an id on the gateway `@ada`. */
const MATRIX = '@ada:example.org'

describe('a person on one of several gateways', { timeout: 120_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const run = (...args: string[]) => site.run(['person', ...args])
  const say = (gateway: string, from: string) => site.run(['message', gateway, 'hello', '--from', from])
  for (const [gateway, from] of [
    ['support', ADA],
    ['shop', 'Ada@Example.com'],
    ['shop', ADA],
    ['team', 'U024BE7LH'],
    ['shop', 'bada@example.com'],
    ['support', MATRIX],
    ['shop', MATRIX],
  ] as const)
    assert.equal((await say(gateway, from)).code, 0)
  await daemon.invoke('state-set', { key: 'order', value: { gateway: 'shop', customer: ADA } })
  await daemon.invoke('state-set', { key: 'customer', value: { address: ADA } })
  const ELSEWHERE = /^Also on shop: \d messages?, (.+)\. To cover all: `trivium (person .+)`$/m

  test('has messages of the same address elsewhere, with the command for all', async () => {
    for (const [verb, ...more] of [['count'], ['erase'], ['export', '--output', 'ada.jsonl']] as const) {
      const { out, err } = await run(verb, `support:${ADA}`, ...more)
      const [, , command] = ELSEWHERE.exec(out + err) ?? []
      assert.equal(command, `person ${verb} ${ADA}`, out + err)
    }
    const { elsewhere } = JSON.parse((await run('count', `support:${ADA}`, '--json')).out)
    assert.deepEqual(elsewhere, { identities: [`*:${ADA}`], gateways: { shop: 2 }, done: true })
  })

  test('keeps the other identities in that command', async () => {
    const { out } = await run('count', `support:${ADA}`, 'team:U024BE7LH')
    assert.equal(ELSEWHERE.exec(out)?.[2], `person count ${ADA} team:U024BE7LH`, out)
  })

  test('keeps the gateway of what is no address alone', async () => {
    const { out } = await run('count', `support:${MATRIX}`)
    assert.equal(ELSEWHERE.exec(out)?.[2], `person count '*:${MATRIX}'`, out)
    assert.match((await run('list', 'example.org')).out, /^\*:@ada:example\.org\t/m)
    assert.equal((await run('count', `*:${MATRIX}`)).code, 0)
  })

  test('does not include a value that names another gateway', async () => {
    const stateOf = async (gateway: string) => {
      const { counts } = JSON.parse((await run('count', `${gateway}:${ADA}`, '--json')).out)
      return Object.entries(counts).find(([place, many]) => place.startsWith('state') && many !== 0)?.[1]
    }
    assert.deepEqual([await stateOf('shop'), await stateOf('support')], [2, 1])
  })

  test('is refused with a mistyped gateway, though a value and an export have the address', async () => {
    assert.equal((await run('export', ADA)).code, 0)
    for (const [verb, ...more] of [
      ['show'],
      ['open'],
      ['count'],
      ['export'],
      ['erase'],
      ['erase', '--confirm'],
    ] as const) {
      const { code, out, err } = await run(verb, `suport:${ADA}`, ...more)
      assert.match(err, /There is no gateway suport\. Did you mean support\?/, verb)
      assert.deepEqual([code === 0, out], [false, ''], verb)
    }
    assert.match((await run('list', '--gateway', 'suport')).err, /no gateway suport\. Did you mean support\?/)
  })

  test('is suggested for a typo, but not for another address at the same domain', async () => {
    const { out } = await run('count', 'aad@example.com')
    assert.doesNotMatch(out, /Did you mean/)
    assert.match(out, /No message of others has aad@example\.com/)
    const typo = await run('count', 'ada@exmaple.com')
    assert.match(typo.out, /Did you mean ada@example\.com\?/i)
    assert.match(typo.out, /No message of others has ada@exmaple\.com/)
    assert.doesNotMatch((await run('count', 'bodo@example.com')).out, /Did you mean/)
  })

  test('is not said of an address on every gateway, and of ids', async () => {
    for (const identity of [ADA, 'team:U024BE7LH'])
      assert.doesNotMatch((await run('count', identity)).out, /Also on/)
  })
})
