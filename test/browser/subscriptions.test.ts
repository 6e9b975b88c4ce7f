import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import { describe, test } from 'node:test'
import { makeAuthority } from '../fixtures/authority.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const SECRET = /^whsec_[A-Za-z0-9+/]{40,}={0,2}$/

type Push = { id: string; timestamp: string; signatures: string; body: string }

/** Whether a push is signed with a secret, as Standard Webhooks defines. */
function isSignedBy(secret: string, { id, timestamp, signatures, body }: Push): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return signatures.split(' ').includes(`v1,${expected}`)
}

describe('push subscriptions in the console', { timeout: 600_000 }, async () => {
  const site = openSite({
    routes: `
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, match: { data.country: [CH, NO] }, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()
  const got: Push[] = []
  const receiver = await serveHttp(async (request, response) => {
    const body = (await request.toArray()).join('')
    const header = (name: string) => String(request.headers[`webhook-${name}`])
    got.push({ id: header('id'), timestamp: header('timestamp'), signatures: header('signature'), body })
    response.writeHead(200).end()
  })
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const card = page.getByRole('row', { name: 'Push shop' })
  const field = (name: string) => dialog.getByRole('textbox', { name, exact: true })
  const shownSecret = () => dialog.locator("pre[aria-label='Signing secret']").textContent().then(String)
  const emit = (data: number) => daemon.invoke('event-emit', { topic: 'orders', data })
  const settings = async () =>
    Object(Object(await daemon.invoke('subscription-show', { name: 'shop' })).settings)
  const secrets: string[] = []

  test('can be created; the secret is shown once, copied, and signs the pushes', async () => {
    await show('queues')
    await page.getByText('only data.country: CH or NO').waitFor()
    await press('New push subscription …')
    await field('Name').fill('shop')
    await field('URL').fill(receiver.url)
    await field('Topic').fill('orders')
    await answer('Create')
    await dialog
      .getByRole('alert')
      .getByText(/private|https/)
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('subscription-new')
    await dialog.getByLabel('Allow private addresses and plain http').check()
    await answer('Create')
    const secret = await shownSecret()
    assert.match(secret, SECRET)
    await page.keyboard.press('Escape')
    await answer('Copy')
    await untilCopied(page, secret)
    assert.deepEqual(await faultsOf(page), [])
    await shots('subscription-secret')
    await answer('Done')
    await card.waitFor()
    await emit(1)
    await until(async () => got.length === 1, 'the push')
    assert.ok(got[0] && isSignedBy(secret, got[0]))
    secrets.push(secret)
    assert.ok(!(await page.content()).includes(secret))
    await shots('subscriptions')
  })

  test('cannot be changed if they are in the file, nor created with an existing name', async () => {
    await show('queues/orders/crm')
    await page.getByText('Defined in routes.yaml.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete crm' }).count(), 0)
    await show('queues')
    await press('New push subscription …')
    await field('Name').fill('shop')
    await field('URL').fill('https://other.example.com/hook')
    await answer('Create')
    await dialog.getByRole('alert').getByText(/shop/).waitFor()
    await answer('Cancel')
  })

  test('can be changed, keeping other settings; a new secret signs beside the old one', async () => {
    await show('queues/orders/shop')
    await press('Change shop')
    await field('Only events that match').fill('{ "dat')
    await answer('Save')
    await dialog
      .getByRole('alert')
      .getByText(/^Only events that match: Invalid JSON/)
      .waitFor()
    await field('Only events that match').fill('')
    await dialog.getByText('Delivery: format').click()
    await field('Maximum rate').fill('50/s')
    await dialog.getByLabel('Generate a new secret').check()
    await answer('Save')
    const secret = await shownSecret()
    await answer('Done')
    await emit(2)
    await until(async () => got.length === 2, 'the second push')
    for (const each of [secret, ...secrets]) assert.ok(got[1] && isSignedBy(each, got[1]))
    const { rate, topic, url } = await settings()
    assert.deepEqual({ rate, topic, url }, { rate: '50/s', topic: 'orders', url: receiver.url })
    await press('Change shop')
    assert.equal(await field('Maximum rate').inputValue(), '50/s')
    await field('Maximum rate').fill('')
    await answer('Save')
    await page.getByText('shop is changed.').waitFor()
    assert.equal((await settings()).rate, undefined)
  })

  test('can have headers, OAuth, a timeout and retries; hidden secrets are kept or have to be entered again', async () => {
    const tokenRequests: string[] = []
    const tokens = await serveHttp(async (request, response) => {
      tokenRequests.push((await request.toArray()).join(''))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"access_token":"t0ken","token_type":"Bearer","expires_in":3600}')
    })
    const received: string[] = []
    const guarded = await serveHttp(async (request, response) => {
      await request.toArray()
      received.push(`${request.headers.authorization} ${request.headers['x-team']}`)
      response.writeHead(200).end()
    })
    await show('queues')
    await press('New push subscription …')
    await field('Name').fill('guarded')
    await field('URL').fill(guarded.url)
    await field('Topic').fill('guarded')
    await dialog.getByLabel('Allow private addresses').check()
    await dialog.getByText('Authentication: secret').click()
    await dialog.getByText('Delivery: format').click()
    await dialog.getByLabel('Signing secret').fill(`whsec_${'b3du'.repeat(10)}`)
    await field('Headers').fill('x-team books')
    await answer('Create')
    await dialog.getByRole('alert').getByText('Headers: expected name: value, not x-team books').waitFor()
    await field('Headers').fill('x-team: books')
    await field('Token URL').fill(tokens.url)
    await field('Client id').fill('trivium')
    await dialog.getByLabel('Client secret').fill('open sesame')
    await field('Scope').fill('events.write')
    await field('Timeout').fill('5s')
    await dialog.getByLabel('Attempts').fill('7')
    await field('Longest delay').fill('1m')
    assert.deepEqual(await faultsOf(page), [])
    await shots('subscription-all')
    await answer('Create')
    await page.getByText('guarded is created.').waitFor()
    await daemon.invoke('event-emit', { topic: 'guarded', data: 1 })
    await until(async () => received.length === 1, 'the push')
    assert.deepEqual(received, ['Bearer t0ken books'])
    assert.match(String(tokenRequests[0]), /scope=events\.write/)

    const known = async () =>
      Object(Object(await daemon.invoke('subscription-show', { name: 'guarded' })).settings)
    const { retry, timeout, oauth } = await known()
    assert.deepEqual({ retry, timeout }, { retry: { attempts: 7, maxDelay: '1m' }, timeout: '5s' })
    await show('queues/guarded/guarded')
    await press('Change guarded')
    await dialog.getByLabel('Conversations in parallel').fill('1')
    await field('Scope').fill('events.all')
    await answer('Save')
    await dialog
      .getByRole('alert')
      .getByText(/OAuth: enter the client secret again/)
      .waitFor()
    await field('Scope').fill('events.write')
    await answer('Save')
    await page.getByText('guarded is changed.').waitFor()
    const after = await known()
    assert.deepEqual([after.concurrency, after.oauth, after.headers], [1, oauth, { 'x-team': '[secret]' }])
    await daemon.invoke('event-emit', { topic: 'guarded', data: 2 })
    await until(async () => received.length === 2, 'the push after the change')
    assert.equal(received[1], received[0])
    await daemon.invoke('subscription-delete', { name: 'guarded', force: true })
    await tokens.close()
    await guarded.close()
  })

  test('can have a client certificate; an invalid one is refused at its field', async () => {
    const { pem, remove } = makeAuthority()
    const received: unknown[] = []
    const options = { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem') }
    const server = createServer({ ...options, requestCert: true }, async (request, response) => {
      const peer = Object(Reflect.get(request.socket, 'getPeerCertificate')).call(request.socket)
      received.push([peer.subject?.CN, (await request.toArray()).join('')])
      response.end('thanks')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    await show('queues')
    await press('New push subscription …')
    await field('Name').fill('sealed')
    await field('URL').fill(`https://127.0.0.1:${Object(server.address()).port}/in`)
    await field('Topic').fill('sealed')
    await dialog.getByLabel('Allow private addresses').check()
    await dialog.getByText('Authentication: secret').click()
    await field('Certificate').fill('client.pem')
    await field('Private key').fill(pem('client.key'))
    await field('Certificate authorities').fill(pem('ca.pem'))
    await dialog.getByText('Authentication: secret').click()
    await answer('Create')
    await dialog.getByRole('alert').getByText('expected PEM text').waitFor()
    assert.equal(await page.locator(':focus').getAttribute('id'), 'push-tls.cert')
    assert.equal(await field('Certificate').getAttribute('aria-invalid'), 'true')
    assert.deepEqual(await faultsOf(page), [])
    await shots('subscription-certificate')
    await field('Certificate').fill(pem('client.pem'))
    await answer('Create')
    await shownSecret()
    await answer('Done')
    await daemon.invoke('event-emit', { topic: 'sealed', data: { order: 1 } })
    await until(async () => received.length === 1, 'the push')
    assert.match(JSON.stringify(received), /^\[\["client",".*order/)
    assert.ok(
      !JSON.stringify(await daemon.invoke('subscription-show', { name: 'sealed' })).includes('PRIVATE KEY'),
    )
    await daemon.invoke('subscription-delete', { name: 'sealed', force: true })
    server.close()
    server.closeAllConnections()
    remove()
  })

  test('are deleted after a confirmation that counts the lost events', async () => {
    await daemon.invoke('subscription-pause', { name: 'shop' })
    for (const data of [3, 4]) await emit(data)
    await show('queues/orders/shop')
    // Its buttons move when the page learns of the pause.
    await page.getByRole('button', { name: 'Resume shop' }).waitFor()
    await press('Delete shop')
    await dialog.getByText('This cannot be undone.').waitFor()
    assert.match(String(await dialog.textContent()), /Lost with it: 2 events waiting\./)
    await shots('subscription-delete')
    await answer('Delete')
    await page.getByText('shop is deleted.').waitFor()
    await card.waitFor({ state: 'detached' })
    const left = [await daemon.invoke('subscription-list', {})].flat().map((each) => Object(each).name)
    assert.deepEqual(left, ['crm'])
    assert.equal(got.length, 2)
    await receiver.close()
  })

  test('are in the audit log, which filters by an action, and fits on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('audit')
    const entries = page.getByRole('region', { name: 'Entries' })
    await entries.getByText('Signed in').first().waitFor()
    await page.getByRole('button', { name: /^Filter/ }).click()
    await page.getByRole('combobox', { name: 'Action', exact: true }).selectOption('subscription-delete')
    await entries.getByText('Signed in').waitFor({ state: 'detached' })
    assert.match(page.url(), /action=subscription-delete/)
    const rows = entries.getByRole('row').filter({ hasText: 'Deleted a push shop' })
    assert.match(String(await rows.first().textContent()), /shop force true/)
    assert.equal(await rows.count(), 1, 'the dry runs of the dialogs are not in the audit log')
    assert.equal(await page.evaluate('document.querySelector(".audit").scrollWidth <= innerWidth'), true)
    const current = await page.getByRole('button', { name: /^Audit/ }).boundingBox()
    assert.ok(current && current.x >= 0 && current.x + current.width <= 390, JSON.stringify(current))
    assert.deepEqual(await faultsOf(page), [])
    await shots('audit')
  })
})
