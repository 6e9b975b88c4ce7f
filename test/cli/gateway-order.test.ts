import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayTable } from '../../src/cli/status/gateways.ts'

test('status names gateways with a problem first, also if not all are shown', () => {
  const ok = (name: string) => ({ name, transport: 'webhook', ok: true })
  const gateways = [
    ok('a'),
    { ...ok('b'), paused: true },
    ok('c'),
    { ...ok('d'), refuses: 'most deliveries' },
    { ...ok('e'), ok: false, detail: 'connection refused' },
    { ...ok('f'), warning: 'no key' },
  ]
  const names = (table: string) =>
    table
      .split('\n')
      .slice(1)
      .map((line) => line[0])
  assert.deepEqual(names(gatewayTable(gateways)), ['e', 'd', 'f', 'b', 'a', 'c'])
  assert.deepEqual(names(gatewayTable(gateways, [], { maxRows: 4 })), ['e', 'd', 'f', '…'])
})
