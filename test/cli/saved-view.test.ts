import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  desk: { transport: cli }
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes:
  - { name: carrier, match: { text: "*parcel*" }, skill: carrier, retry: { attempts: 1 } }
  - { name: ledger, match: { text: "*invoice*" }, skill: carrier, retry: { attempts: 1 } }
  - { name: shop, match: { gateway: shop }, skill: echo }
`
const CARRIER = `export default { description: 'ships', run() { throw new Error('the carrier is away') } }`

const site = openSite({ routes: ROUTES, skills: { carrier: CARRIER } })
const daemon = await site.start()
const save = (list: string, name: string, query: object) => daemon.invoke('view-save', { list, name, query })
const cli = async (...args: string[]) => {
  const { code, out, err } = await site.run(args)
  return { code, text: out + err }
}
const say = (conversation: string, text: string) =>
  fetch(`${daemon.control}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ gateway: 'desk', conversation, from: conversation, text }),
  })

test('--view lists what the console lists: conversations, dead letters and the audit log', async () => {
  await say('ada', 'a red lamp?')
  await say('eva', 'a green lamp?')
  await say('ole', 'my parcel')
  await say('ida', 'my invoice')
  await until(
    async () => [await daemon.invoke('dead-letter-list', {})].flat().length === 2,
    'two dead letters',
  )
  await save('conversations', 'lamps', { show: 'person', search: 'lamp' })
  await save('conversations', 'mine', { show: 'mine' })
  await save('dead-letters', 'parcels', { group: 'carrier' })
  await daemon.invoke('gateway-pause', { gateway: 'shop', reason: 'stocktaking' })
  await daemon.invoke('gateway-resume', { gateway: 'shop' })
  await save('audit', 'pauses', { action: 'gateway-pause' })
  const lamps = await cli('conversation', 'list', '--view', 'lamps')
  assert.match(lamps.text, /a red lamp/)
  assert.doesNotMatch(lamps.text, /parcel/)
  const red = await cli('conversation', 'list', '--view', 'lamps', '--search', 'red')
  assert.match(red.text, /a red lamp/)
  assert.doesNotMatch(red.text, /a green lamp/)
  const letters = await cli('dead-letter', 'list', '--view', 'parcels')
  assert.match(letters.text, /carrier/)
  assert.doesNotMatch(letters.text, /ledger/)
  const audit = await cli('audit', '--view', 'pauses')
  assert.match(audit.text, /gateway-pause/)
  assert.doesNotMatch(audit.text, /gateway-resume|view-save/)
  const mine = await cli('conversation', 'list', '--view', 'mine')
  assert.match(mine.text, /Only the console can show the view "mine"/)
  assert.equal(mine.code, 2)
  assert.match((await cli('audit', '--view', 'pause')).text, /view "pause" of audit.*pauses/s)
})

test('a search of the transcript says where the webhooks are', async () => {
  const found = await cli('history', 'lamp')
  assert.match(found.text, /a red lamp/)
  assert.match(found.text, /trivium message list --search lamp/)
})
