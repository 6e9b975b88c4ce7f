// What docs/webhook-providers.md says about the providers, and the page with their sections.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { PAYPAL } from '../../../transports/deliveries/paypal.ts'
import type { Preset } from '../../../transports/deliveries/preset.ts'
import { PRESETS } from '../../../transports/deliveries/presets.ts'
import { SNS } from '../../../transports/deliveries/sns.ts'
import { PROVIDER_EXAMPLES } from '../../../transports/webhook/examples/all.ts'
import { guide, providerRows, reference } from './providers/table.ts'

const presets: Record<string, Preset> = { ...PRESETS, paypal: PAYPAL, sns: SNS }

test('the example at the top is the gateway of its provider', () => {
  const [, yaml = ''] = /```yaml\n( *gateways:\n *okta:.*?)```/s.exec(guide) ?? []
  const { transport: _, path, enabled, verify, ...options } = parse(yaml).gateways.okta
  const row = providerRows().find(({ provider }) => provider === 'Okta')
  assert.deepEqual([path, enabled], ['/hooks/okta', 'auto'])
  assert.deepEqual(options, row?.options)
  assert.deepEqual(verify, { ...row?.verify, secret: `\${OKTA_SECRET}` })
})

test('the gateway of LINE in the page of chats has the options of the provider', () => {
  const chats = readFileSync(new URL('../../../docs/chats.md', import.meta.url), 'utf8')
  const [, yaml = ''] = /```yaml\n( *gateways:\n *line:.*?)```/s.exec(chats) ?? []
  const { transport: _, path, enabled, verify, ...options } = parse(yaml).gateways.line
  assert.deepEqual([path, enabled], ['/hooks/line', 'auto'])
  assert.deepEqual(options, providerRows().find(({ provider }) => provider === 'LINE')?.options)
})

test('the index lists each provider, in order, with a link to its section', () => {
  const entries = Array.from(
    reference.matchAll(/\[([^\]]+)\]\(#([^)]+)\)( ✓)?(?= · |\n)/g),
    ([, name = '', anchor = '', mark]) => ({ name, anchor, isCompared: mark !== undefined }),
  )
  const sorted = entries.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1))
  assert.deepEqual(entries, sorted)
  const all = providerRows()
  for (const { name, anchor, isCompared } of entries) {
    const row = all.find((one) => one.anchor === anchor)
    assert.ok(row?.provider.includes(name), `${name} links to ${row?.provider}`)
    assert.equal(isCompared, row?.isCompared, `the mark of ${name}`)
  }
  for (const { provider, anchor, isCompared } of all) {
    assert.ok(
      entries.some((entry) => entry.anchor === anchor),
      `${provider} is not in the index`,
    )
    const [, section = ''] = reference.split(`\n## ${provider}\n\n`)
    assert.ok(section.startsWith(isCompared ? '✓ Compared' : 'Not compared'), provider)
  }
})

test('the page lists the providers whose events have no name', () => {
  const [, list = ''] = /No field names it \(([^)]+)\)/.exec(guide) ?? []
  const unnamed = PROVIDER_EXAMPLES.filter(({ exampleEvent }) => exampleEvent === undefined)
  const short = unnamed.map(({ name }) => name.replace(' (outbound messages)', '').replace(/[()]/g, ''))
  assert.deepEqual(
    list.split(/,\s+/).map((name) => name.replace(/\s+/g, ' ')),
    short,
  )
})

test('the pages name each provider whose preset answers in its own way', () => {
  const answering = Object.entries(presets).filter(
    ([, { answer }]) => answer?.({ id: 'm' }, {}) !== undefined,
  )
  assert.ok(answering.length > 5)
  const webhooks = readFileSync(new URL('../../../docs/webhook.md', import.meta.url), 'utf8')
  for (const page of [guide, webhooks]) {
    const [names = ''] = /Amazon SNS, Discord.*200 \(204 for events of Discord\)/.exec(page) ?? []
    assert.deepEqual(
      answering.map(([name]) => name).filter((name) => !names.toLowerCase().includes(name)),
      [],
    )
  }
})
