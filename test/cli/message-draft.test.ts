import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

/** Reads a draft in a process of another time zone. */
function receivedAtIn(zone: string, receivedAt: string): string {
  const file = JSON.stringify(new URL('../../src/cli/message-draft.ts', import.meta.url).href)
  const draft = JSON.stringify(JSON.stringify({ gateway: 'shop', receivedAt }))
  const source = `
    const { readDraft } = await import(${file})
    const { receivedAt } = readDraft(${draft}, 'message.json', [{ name: 'shop', transport: 'webhook' }])
    console.log(new Date(receivedAt).toISOString())`
  const args = ['--input-type=module', '--eval', source]
  return execFileSync(process.execPath, args, { env: { ...process.env, TZ: zone }, encoding: 'utf8' }).trim()
}

test('a time without a zone in a message draft is UTC on every machine', () => {
  assert.equal(receivedAtIn('Asia/Tokyo', '2026-11-20T09:00:00'), '2026-11-20T09:00:00.000Z')
  assert.equal(receivedAtIn('Asia/Tokyo', '2026-11-20T09:00:00+01:00'), '2026-11-20T08:00:00.000Z')
})
