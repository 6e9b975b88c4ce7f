import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'

const ADA = 'ada@a.example'
const BROKEN = `export default { description: 'fails', run: () => { throw new Error('out of thread') } }`
const REFUND = `export default { description: 'pays back', metadata: { approval: { title: 'Refund {text}' } }, run: () => 'paid' }`

describe('the page of a person', { timeout: 600_000 }, async () => {
  const smtp = await startSmtpServer()
  after(() => smtp.close())
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
  desk: { transport: websocket, path: /desk, open: true }
  ${supportGateway(smtp)}
routes:
  - { name: refunds, match: { text: "*refund*" }, skill: refund }
  - { name: fails, match: { text: "*broken*" }, skill: broken, retry: { attempts: 1 } }
  - { name: quiet, match: { text: "*quiet*" }, skill: echo, reply: none }
  - { name: all, skill: echo }
`,
    skills: { refund: REFUND, broken: BROKEN },
  })
  const daemon = await site.start()
  const { page, show, press, answer, shots } = await openConsole(() => daemon)
  const order = (email: string, number: number, note = '') =>
    daemon.post('/shop', JSON.stringify({ email, order: number, ...(note && { note }) }))
  let mails = 0
  const mail = (Email: string, Name: string, text: string) =>
    daemon.post(
      '/mail',
      JSON.stringify({
        MessageID: `mail-${mails++}`,
        FromFull: { Email, Name },
        ToFull: [{ Email: 'support@example.com' }],
        Subject: text,
        TextBody: text,
      }),
    )
  const say = (text: string) =>
    fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'desk', from: ADA, text, conversation: 'of-ada' }),
    })
  const title = (name: string | RegExp) => page.getByRole('heading', { level: 1, name })
  const wrote = page.getByRole('list', { name: 'What they wrote' })
  const kept = page.getByRole('region', { name: 'What is kept' })
  const person = (identity: string) => `people?who=${encodeURIComponent(identity)}`

  for (const number of [1, 2, 3, 4, 5]) await order(ADA, number)
  await order('bo@b.example', 6, `a gift for ${ADA}`)
  await mail(ADA, 'Ada Berg', 'the first mail')
  for (let text = 1; text <= 12; text++) await say(`question ${text} of twelve`)
  await mail('bo@b.example', 'Bo Lind', 'a refund of 12 EUR')
  await until(async () => {
    const { wrote } = Object(await daemon.invoke('person-show', { identity: ADA, limit: 20 }))
    return wrote.every(({ answers }: { answers: { state: string }[] }) => answers[0]?.state === 'sent')
  }, 'the answers')

  test('has what they wrote, each with its answer, however many events came since', async () => {
    await show(person(`*:${ADA}`))
    await title('Ada Berg').waitFor()
    const text = wrote.getByRole('listitem').filter({ hasText: 'question 12 of twelve' })
    await text
      .getByRole('listitem')
      .filter({ hasText: /You said: question 12.*route all, ✓ sent/ })
      .waitFor()
    assert.equal(await wrote.locator(':scope > li').count(), 10)
    await press('Show more')
    await wrote.getByText('question 1 of twelve').first().waitFor()
    assert.equal(await wrote.locator(':scope > li').count(), 13)
    await page.getByText('Sent by machines: 5 on shop. The newest:').waitFor()
    assert.equal(await page.getByRole('list', { name: 'Events' }).getByRole('listitem').count(), 3)
    await press('More events')
    await until(async () => {
      return (await page.getByRole('list', { name: 'Events' }).getByRole('listitem').count()) === 5
    }, 'all events')
    assert.deepEqual(await faultsOf(page), [])
    await shots('texts')
  })

  test('the numbers of messages on each gateway, and of conversations, lead to these', async () => {
    await page.getByRole('link', { name: '5 shop' }).click()
    await page.getByText('5 messages', { exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: '7 conversations' }).click()
    await page.waitForURL(/#\/conversations\?.*show=all/)
  })

  test('messages of others that name the person are found without their own', async () => {
    await show(person(`*:${ADA}`))
    await page.getByText(/^1 message of others has/).waitFor()
    await page.getByRole('link', { name: 'See it' }).click()
    await page.getByText('1 message', { exact: true }).waitFor()
  })

  test('a page of one gateway has the name that another gateway knows', async () => {
    await show(person(`shop:${ADA}`))
    await title('Ada Berg').waitFor()
  })

  test('from a conversation one goes back to the person, and from there to the next one', async () => {
    await show('people')
    await page.getByRole('link', { name: `Ada Berg · ${ADA}` }).click()
    await wrote.getByRole('link', { name: /You said: question 12/ }).click()
    await title(/in desk$/).waitFor()
    await page.getByRole('link', { name: '← Ada Berg' }).click()
    await title('Ada Berg').waitFor()
    await page.getByRole('button', { name: 'Previous' }).waitFor()
    await page.getByText('2 of 2').waitFor()
    await page.keyboard.press('k')
    await title('Bo Lind').waitFor()
    await page.getByRole('link', { name: '← People' }).click()
    await title('People').waitFor()
  })

  test('counts again after an export', async () => {
    await show(person(`*:${ADA}`))
    const caption = kept.locator('caption').filter({ hasText: /places?$/ })
    const before = Number.parseInt(String(await caption.textContent()), 10)
    await press('Export …')
    await answer('Export')
    await page.getByRole('link', { name: /^Download page to read \(/ }).waitFor()
    await until(async () => Number.parseInt(String(await caption.textContent()), 10) > before, 'the count')
    await page.getByRole('link', { name: /^Download page to read \(/ }).waitFor()
  })

  test('a message says what its sender was told, and who got what', async () => {
    const approvals = await daemon.invoke('approval-list', {})
    const [request] = Array.isArray(approvals) ? approvals : []
    const { id, message } = Object(request)
    await show(`messages/${message.id}`)
    await page.getByText('request for approval sent to Bo Lind').waitFor()
    await daemon.invoke('approval-decide', { id, approve: false, reason: 'too late' })
    await page.getByText(/denied by .*: too late.*The refusal was sent to Bo Lind/).waitFor()
    assert.equal(await page.getByText('a refund of 12 EUR', { exact: true }).count(), 1)
    await show('messages?gateway=desk&text=question+12')
    await page
      .getByRole('link', { name: /question 12/ })
      .first()
      .click()
    await page.getByText(/^Answered on .* by route all: ✓ sent to Ada Berg\.$/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('answered')
  })

  test('what waits is decided and answered where it is', async () => {
    const cleo = 'cleo@c.example'
    const open = page.getByRole('list', { name: 'Open' })
    const dialog = page.getByRole('dialog')
    await mail(cleo, 'Cleo Dahl', 'a refund of 7 EUR')
    await mail(cleo, 'Cleo Dahl', 'a quiet question')
    await until(async () => {
      const { people } = Object(await daemon.invoke('person-open', { identity: cleo }))
      return people[0]?.open.length === 2
    }, 'the approval and the question')
    await show(person(`*:${cleo}`))
    await open.getByRole('button', { name: /^Approve Refund/ }).click()
    await dialog.getByRole('button', { name: /^Approve/ }).click()
    await until(async () => (await open.getByText(/^approval · /).count()) === 0, 'the decision')
    const question = open.getByRole('listitem').filter({ hasText: 'a quiet question' })
    await question.getByRole('button', { name: 'Answer …' }).click()
    const field = open.getByRole('textbox', { name: 'Answer Cleo Dahl by hand' })
    await until(async () => field.evaluate((box) => box.matches(':focus')), 'the focus')
    assert.deepEqual(await faultsOf(page), [])
    await shots('answer-here')
    await field.fill('I call you at noon')
    await open.getByRole('button', { name: 'Send the answer' }).click()
    await page.getByText(/^Nothing is open/).waitFor()
    await wrote.getByRole('link', { name: 'I call you at noon' }).waitFor()
  })

  test('what others sent about them is open there, and erased after the number was typed', async () => {
    const dialog = page.getByRole('dialog')
    const gus = 'gus@g.example'
    await mail(gus, 'Gus Holm', 'a first mail')
    await order('ina@i.example', 8, `broken for ${gus}`)
    await order('jan@j.example', 9, `a gift for ${gus}`)
    await until(async () => {
      const { messages } = Object(await daemon.invoke('message-search', { text: gus, outcome: 'dead' }))
      return messages.length === 1
    }, 'a failure')
    await show(person(`*:${gus}`))
    await page.getByRole('list', { name: 'Waiting, sent by others' }).getByText('failed').waitFor()
    await press('Erase them …')
    const boxes = dialog.getByRole('checkbox')
    await boxes.nth(2).waitFor()
    assert.equal(await boxes.count(), 3)
    assert.deepEqual(await faultsOf(page), [])
    await shots('erase-others')
    await dialog.getByRole('checkbox', { name: /gift/ }).uncheck()
    await dialog.getByText(/^cannot be undone 1 message with its answers/).waitFor()
    const erase = dialog.getByRole('button', { name: 'Erase', exact: true })
    const number = dialog.getByRole('textbox', { name: /^Type the number of messages/ })
    await number.fill('2')
    await dialog.getByText('This is not 1.').waitFor()
    assert.equal(await erase.isDisabled(), true)
    await number.fill('1')
    await dialog.getByRole('textbox', { name: /^Number of the request/ }).fill('GDPR-17')
    await answer('Erase')
    await page.waitForURL(/#\/jobs\//)
    await until(async () => {
      const found = Object(await daemon.invoke('message-search', { text: gus }))
      return found.messages.filter(({ gateway }: { gateway: string }) => gateway === 'shop').length === 1
    }, 'the erasure of one message')
    const [file] = await Promise.all([page.waitForEvent('download'), press('Save proof')])
    assert.match(file.suggestedFilename(), /^erasure-.*\.html$/)
    await show(person(`*:${gus}`))
    await press('Erase …')
    const reference = dialog.getByRole('textbox', { name: /^Number of the request/ })
    assert.equal(await reference.inputValue(), 'GDPR-17', 'the number of the same request')
    await page.keyboard.press('Escape')
  })

  test('a failed message is retried where it is open', async () => {
    const kim = 'kim@k.example'
    await order(kim, 10, 'broken again')
    await show(person(`*:${kim}`))
    const open = page.getByRole('list', { name: 'Open', exact: true })
    await open.getByRole('button', { name: 'Retry …' }).click()
    await answer('Retry')
    await page.getByText('It is being retried.').waitFor()
  })
})
