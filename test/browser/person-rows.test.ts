import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const PETRA = 'petra@a.example'
const PETR = 'petr@a.example'
const LONG = `My long story ${'and so on '.repeat(150)}is at its end.`

describe('the rows of the page of a person', { timeout: 600_000 }, async () => {
  const crm = await serveHttp((_, response) => void response.writeHead(503).end())
  after(() => crm.close())
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.by }
  desk: { transport: websocket, path: /desk, open: true }
routes:
  - { name: calls, match: { gateway: shop }, skill: echo }
  - { name: quiet, match: { text: "*quiet*" }, skill: echo, reply: none }
  - { name: all, skill: echo }
subscriptions:
  - { name: crm, topic: gateway-message, url: "${crm.url}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)}, match: { gateway: desk } }
`,
  })
  const daemon = await site.start()
  const { page, show, press, shots } = await openConsole(() => daemon)
  const say = async (from: string, text: string) => {
    const answer = await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'desk', from, text, conversation: from }),
    })
    assert.ok(answer.ok, await answer.text())
  }
  const wrote = page.getByRole('list', { name: 'What they wrote' })
  const person = (...who: string[]) =>
    `people?who=${encodeURIComponent(who.map((one) => `*:${one}`).join('\n'))}`

  test('what a push has not sent says so and why, instead of “Nothing is open”', async () => {
    await say(PETRA, LONG)
    const pushes = async () =>
      Object(await daemon.invoke('person-show', { identity: PETRA })).pushes as { reason?: string }[]
    await until(async () => /503/.test((await pushes())[0]?.reason ?? ''), 'the failed push')
    await show(person(PETRA))
    const row = page.getByRole('list', { name: 'Not delivered yet' }).getByRole('listitem')
    await row.getByRole('link', { name: '1 message waits to be sent to crm' }).waitFor()
    await row.getByText(/it answered 503/).waitFor()
    await row.getByText(/^(retrying|failing) · /).waitFor()
    assert.equal(await page.getByText(/^Nothing is open/).count(), 0)
    const { out } = await site.run(['person', 'show', PETRA])
    assert.match(out, /^Open\n {2}1 message waits to be sent to crm, for .*: the push is .*503/m)
    assert.doesNotMatch(out, /Nothing is open/)
  })

  test('a long text ends with an ellipsis, and opens where it is', async () => {
    await show(person(PETRA))
    const text = wrote.getByRole('listitem').filter({ hasText: 'My long story' }).first()
    await text
      .getByRole('link', { name: /and so on.*…$/ })
      .first()
      .waitFor()
    await text
      .getByRole('button', { name: `Show all ${LONG.length.toLocaleString('en')} characters` })
      .click()
    await text.getByText(/is at its end\.$/).waitFor()
    await press('Show less')
    const { out } = await site.run(['person', 'show', PETRA])
    assert.match(out, /… \(1,5\d\d characters\)$/m)
  })

  test('a message of others says why it waits, in the words of their own page', async () => {
    const kim = 'kim@a.example'
    await say(kim, 'my name is Kim')
    await daemon.invoke('route-pause', { route: 'calls', reason: 'moving' })
    await daemon.post('/shop', JSON.stringify({ by: 'U04KQ7', contact: kim }))
    await until(
      async () => /"paused"/.test(JSON.stringify(await daemon.invoke('person-open', {}))),
      'the message',
    )
    await show(person(kim))
    const row = page.getByRole('list', { name: 'Waiting, sent by others' }).getByRole('listitem')
    await row.getByText(/^paused · /).waitFor()
    await row.getByText('paused: route calls').waitFor()
    await row.getByText('sent by U04KQ7').waitFor()
    const { out } = await site.run(['person', 'show', kim])
    assert.match(out, /^ {2}paused: route calls, .* on shop, sent by U04KQ7: .*\n {4}`trivium message show /m)
  })

  test('with two identities, each text has the one who wrote it', async () => {
    await say(PETR, 'a quiet question')
    await show(person(PETRA, PETR))
    await wrote.getByRole('listitem').filter({ hasText: 'a quiet question' }).getByText(PETR).waitFor()
    await wrote.getByRole('listitem').filter({ hasText: 'My long story' }).getByText(PETRA).first().waitFor()
    const { out } = await site.run(['person', 'show', PETRA, PETR])
    assert.match(out, /ago on desk, from petr@a\.example: a quiet question/)
    const mixed = await site.run(['person', 'show', 'petra berg', PETR])
    assert.equal(mixed.code, 2)
    assert.match(mixed.err, /not both: `trivium person show petr@a\.example`/)
  })

  test('`r` starts the first answer, and the help lists it', async () => {
    await show(person(PETR))
    const answer = page.getByRole('list', { name: 'Open' }).getByRole('button', { name: 'Answer …' })
    await answer.waitFor()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog')
    await help.getByText('answer', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    await page.keyboard.press('r')
    const field = page.getByRole('textbox', { name: /^Answer petr@a\.example by hand/ })
    await until(async () => field.evaluate((box) => box.matches(':focus')), 'the focus')
    assert.deepEqual(await faultsOf(page), [])
    await shots('rows')
  })

  test('what *Show more* added is there again on the way back', async () => {
    for (let number = 1; number <= 12; number++) await say('ada@a.example', `question ${number}`)
    await show(person('ada@a.example'))
    await press('Show more')
    await wrote.getByRole('link', { name: /ago question 1$/ }).click()
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'ada@' }).waitFor()
    await page.goBack()
    await wrote.getByRole('link', { name: /ago question 1$/ }).waitFor()
  })

  test('Escape leaves the search, and Enter without a text goes to the first person', async () => {
    await show('people')
    const field = page.getByRole('searchbox', { name: 'Name, address or id' })
    await field.fill('pet')
    await page.keyboard.press('Escape')
    assert.equal(await field.inputValue(), '')
    assert.equal(await field.evaluate((box) => box.matches(':focus')), false)
    await field.focus()
    await page.keyboard.press('Enter')
    await until(
      async () =>
        page
          .locator('.senders [data-row]')
          .first()
          .evaluate((row) => row.matches(':focus')),
      'the first row',
    )
  })
})
