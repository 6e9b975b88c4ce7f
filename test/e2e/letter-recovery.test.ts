import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { recoveryLines } from '../../src/engine/print/letter-recovery.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, event: data.body.type }
routes:
  - { name: payments, skill: pay, retry: { attempts: 1 } }
`
const PAY = `import { existsSync } from 'node:fs'
export default { description: 'pays', run({ args }) {
  const isOpen = existsSync(new URL('../../open', import.meta.url))
  if (args.text.includes('dispute') && !isOpen) throw new Error('the directory answered 502')
} }`

test('only a message of the same event, or a retried one, proves that dead letters can succeed', async () => {
  const site = openSite({ routes: ROUTES, skills: { pay: PAY } })
  const daemon = await site.start()
  const send = (type: string) => daemon.post('/shop', JSON.stringify({ type }))
  const cause = async () => Object([await daemon.invoke('dead-letter-groups', { recovery: true })].flat()[0])
  const recoveryIs = async (isMet: (recovery: Record<string, unknown>) => boolean, what: string) => {
    await until(async () => isMet(Object((await cause()).recovery)), what)
    const found = await cause()
    return { ...found, lines: recoveryLines(found).join('\n') }
  }
  for (const _ of [1, 2, 3]) await send('dispute')
  await until(async () => (await cause()).count === 3, 'three dead letters')
  assert.deepEqual((await cause()).events, ['dispute'])

  await send('charge')
  const other = await recoveryIs(({ others }) => others !== undefined, 'another message')
  assert.equal(other.recovery.alike, undefined)
  assert.match(other.lines, /^The route has handled 1 other message since; whether these can succeed/)

  site.write('open', '')
  await daemon.invoke('dead-letter-retry', { id: other.newest })
  const retried = await recoveryIs((recovery) => recovery.retried !== undefined, 'a retried one')
  assert.equal(retried.recovery.retried.id, other.newest)
  assert.equal(retried.count, 2)
  assert.match(retried.lines, /✓.* 1 letter of this cause was retried and is done/)

  await send('dispute')
  const alike = await recoveryIs((recovery) => recovery.alike !== undefined, 'one of the same event')
  assert.equal(alike.recovery.others, undefined)
  assert.match(alike.lines, /✓.* 1 message of the same event \(dispute\) is done/)

  rmSync(join(site.dir, 'open'))
  await daemon.invoke('dead-letter-retry', { id: alike.newest })
  await until(async () => (await cause()).retriedAt !== undefined, 'one that failed again')
  const again = await cause()
  assert.doesNotMatch(recoveryLines(again).join('\n'), /✓/)
  assert.match(recoveryLines(again).join('\n'), /but another retry has failed since/)
})
