import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { goTo, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { HALLDIS, mailFromHalldis, refuseNext, supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'

describe('the console shows replies that were not delivered', { timeout: 600_000 }, async () => {
  const smtp = await startSmtpServer()
  after(() => smtp.close())
  const site = openSite({
    routes: `
gateways:
  ${supportGateway(smtp)}
routes: [{ name: answer, skill: echo }]
`,
  })
  const daemon = await site.start()
  const { page, dialog, show, shots } = await openConsole(() => daemon)
  const wrong = page.getByRole('region', { name: 'What is wrong' })

  test('on Now, by name, and its dead letter in words with the way to the conversation', async () => {
    const mail = await mailFromHalldis(daemon)
    // Once it is recorded, the next mail is the last answer.
    const answer = async () => Object(await daemon.invoke('conversation-list', {})).conversations[0]?.reply
    await until(async () => (await answer()) !== undefined, 'the answer of the skill')
    assert.equal(smtp.taken.length, 1)
    refuseNext(smtp)
    const text = 'We found your parcel.\n\nIngrid, Nordlys'
    const send = { gateway: 'support', to: HALLDIS, subject: 'Re: Where is order 4777?', text }
    await daemon.invoke('gateway-send', send).catch(() => undefined)
    await show('now')
    await wrong.getByText('1 reply of support was not delivered').waitFor()
    await wrong.getByText(new RegExp(`To ${HALLDIS}: .*no such mailbox`)).waitFor()
    await show('dead-letters')
    await page.locator('.group').getByText(`to ${HALLDIS}`, { exact: true }).waitFor()
    await show('now')
    await wrong.getByRole('link', { name: 'See them' }).click()
    await page.locator('.list a.message-row').click()
    await page.getByRole('heading', { name: 'What was not delivered' }).waitFor()
    const fact = (name: string) =>
      page
        .locator('.facts div')
        .filter({ has: page.locator(`dt:text-is("${name}")`) })
        .locator('dd')
    assert.equal(await fact('to').first().textContent(), HALLDIS)
    assert.equal(await fact('subject').textContent(), send.subject)
    assert.equal(await page.getByLabel('What was not delivered').textContent(), text)
    await fact('last message').getByRole('link', { name: mail.Subject }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('unsent-reply')
    await fact('conversation').getByRole('link').click()
  })

  test('since the first failure, also after a retry that failed again', async () => {
    const letters = async () => [await daemon.invoke('dead-letter-list', {})].flat().map(Object)
    const since = async () => {
      const { troubles } = Object(await daemon.invoke('troubles', {}))
      // None is listed while the reply is being sent again.
      return [troubles].flat().map(Object)[0]?.since
    }
    const [before] = await letters()
    const began = before.errors[0].at
    assert.equal(await until(since, 'the trouble'), began)
    refuseNext(smtp)
    await daemon.invoke('dead-letter-retry', { id: before.id })
    const again = await until(async () => {
      const [letter] = await letters()
      return letter?.retriedAt !== undefined && letter
    }, 'the dead letter of the retry')
    assert.equal(again.firstAt, before.at)
    assert.ok(again.at > before.at)
    assert.equal(await until(since, 'the trouble'), began)
    const back = page.url()
    await show('now')
    await wrong.getByText(/no such mailbox\. It was retried at \d\d:\d\d and failed again\./).waitFor()
    await wrong.getByRole('link', { name: 'See them' }).click()
    const row = page.locator('.list a.message-row')
    await row.getByText(/^retried .* ago, failed again$/).waitFor()
    await row.click()
    const attempts = page.locator('.timeline li')
    await attempts.getByText('Retried', { exact: true }).waitFor()
    assert.equal(await attempts.getByText(/no such mailbox/).count(), 2)
    await shots('retried-reply')
    await goTo(page, back)
  })

  test('in the conversation and on the page of the message', async () => {
    const reply = page.locator('.chat li').filter({ hasText: 'We found your parcel.' })
    await reply.getByText('not delivered', { exact: true }).waitFor()
    await page
      .getByText(new RegExp(`The mail to ${HALLDIS} by [^:]+ was not delivered: .*no such mailbox`))
      .waitFor()
    await page.locator('.answering').getByRole('link', { name: 'See the dead letter' }).waitFor()
    await page
      .locator('.answering')
      .getByText(/Halldis Olsen has waited for \d+/)
      .waitFor()
    await shots('unsent-conversation')
    await show('conversations')
    const talk = page.locator('a.message-row.talk')
    await talk.getByText('not delivered', { exact: true }).waitFor()
    await talk.getByText(/We found your parcel/).waitFor()
    await talk.getByText(/^waits/).waitFor()
    await page.getByRole('button', { name: 'Unanswered 1' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('unsent-conversations')
    await show('messages?search=status:undelivered')
    const message = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
    await message.filter({ hasText: 'Where is order 4777?' }).getByText('undelivered').waitFor()
    assert.equal(await message.count(), 1)
    await show('conversations?show=undelivered')
    await talk.getByText('not delivered', { exact: true }).waitFor()
    await talk.click()
    await page.locator('.chat').getByRole('link', { name: 'Halldis Olsen' }).click()
    await page.getByText(new RegExp(`a mail to ${HALLDIS} was not delivered: .*no such mailbox`)).waitFor()
    await page.locator('.timeline').getByText('mail to the sender not delivered').waitFor()
    await page.locator('h1').getByText('undelivered', { exact: true }).waitFor()
    await shots('unsent-message')
    await show('configuration/answer')
    const causes = page.getByRole('list', { name: 'Why messages failed' })
    await causes.getByText(/^1 the reply was not delivered: .*no such mailbox/).waitFor()
    await causes.getByRole('link', { name: 'See the dead letter' }).waitFor()
  })

  test('can be sent to another address', async () => {
    const restore = await intercept(page, '**/v1/skills/dead-letter-show', async (route) => {
      const response = await route.fetch()
      const { result } = await response.json()
      // As if it had a file.
      const data = { ...result.data, attachments: [{ name: 'invoice.pdf' }] }
      await route.fulfill({ response, json: { result: { ...result, data } } })
    })
    await page.getByRole('link', { name: 'See the dead letter' }).first().click()
    await page.getByText('Only the text is sent, without its file.').waitFor()
    const before = smtp.taken.length
    await page.getByLabel('Send it to another address').fill('halldis@example.net')
    await page.getByRole('button', { name: 'Send there' }).click()
    await until(() => smtp.taken.length > before, 'the mail')
    assert.deepEqual(smtp.taken.at(-1)?.to, ['halldis@example.net'])
    // Once it is recorded, a later mail that fails is the last answer.
    await page
      .locator('.toast')
      .getByText('It was sent to halldis@example.net; the dead letter stays')
      .waitFor()
    assert.equal(await dialog.count(), 0)
    await restore()
  })

  test('from the conversation, and then its dead letter is dropped, also if it was not sent as an answer', async () => {
    const text = 'It comes on Monday.'
    refuseNext(smtp)
    const mail = { gateway: 'support', to: HALLDIS, subject: 'Re: Where is order 4777?', text }
    await daemon.invoke('gateway-send', mail).catch(() => undefined)
    const letters = async () => {
      const all = [await daemon.invoke('dead-letter-list', {})].flat().map(Object)
      return all.filter(({ data }) => data.text === text)
    }
    await until(async () => (await letters()).length === 1, 'the dead letter')
    const [{ conversation }] = Object(await daemon.invoke('conversation-list', {})).conversations
    await show(`conversations/support/${encodeURIComponent(conversation)}`)
    await page.locator('.chat .reply').filter({ hasText: text }).getByText('not delivered').waitFor()
    await page.getByLabel('Send it to another address').fill('halldis@example.net')
    await page.getByRole('button', { name: 'Send there' }).click()
    await page.locator('.toast').getByText('It was sent to halldis@example.net.').waitFor()
    await until(async () => (await letters()).length === 0, 'no dead letter')
  })

  test('on the page of the gateway, as many as it knows', async () => {
    const replies = page.locator('.facts > div').filter({ hasText: 'not delivered' }).getByRole('link')
    await show('gateways/support')
    await replies.getByText('1 reply', { exact: true }).waitFor()
    const restore = await intercept(page, '**/v1/skills/dead-letter-list', async (route) => {
      const response = await route.fetch()
      const { result } = await response.json()
      const { limit } = route.request().postDataJSON()
      await route.fulfill({ response, json: { result: Array(limit).fill(result[0]) } })
    })
    await page.reload()
    await replies.getByText('200+ replies', { exact: true }).waitFor()
    await restore()
  })
})
