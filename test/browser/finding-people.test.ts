import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { startSlackServer } from '../fixtures/slack-server.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'
import { callback } from '../transports/slack/harness.ts'

const LEILA = 'leila.koval@mail.example'
const MARTA = 'marta.lindqvist@mail.example'
const FLAKY = `export default { description: 'fails', run() { throw new Error('the warehouse is away') } }`

describe('finding a person and reading their page', { timeout: 600_000 }, async () => {
  const [slack, smtp] = await Promise.all([startSlackServer(), startSmtpServer()])
  after(() => Promise.all([slack.close(), smtp.close()]))
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
  ${supportGateway(smtp)}
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}" }
routes:
  - { name: refunds, match: { text: "*refund*" }, skill: echo, reply: none, approval: { title: "a refund of 1240 EUR" } }
  - { name: stock, match: { text: "*stock*" }, skill: flaky, retry: { attempts: 9, delay: 1h } }
  - { name: dead, match: { text: "*deadly*" }, skill: flaky, retry: { attempts: 1 } }
  - { name: all, skill: echo }
`,
    skills: { flaky: FLAKY },
  })
  const daemon = await site.start()
  const { page, dialog, show, shots } = await openConsole(() => daemon)
  const order = (email: string, text: string) => daemon.post('/shop', JSON.stringify({ email, text }))
  let mails = 0
  const mail = (from: string, name: string, text: string) =>
    daemon.post(
      '/mail',
      JSON.stringify({
        MessageID: `mail-${mails++}`,
        FromFull: { Email: from, Name: name },
        ToFull: [{ Email: 'support@example.com' }],
        Subject: text,
        TextBody: text,
      }),
    )
  const box = page.getByRole('searchbox', { name: 'address or id' })
  const senders = page.getByRole('region', { name: 'Recent senders' })
  const sender = (name: string) => senders.getByRole('link', { name, exact: true })
  const title = (name: string | RegExp) => page.getByRole('heading', { level: 1, name })
  const open = page.getByRole('list', { name: 'Open' })
  const wrote = page.getByRole('list', { name: 'What they wrote' })
  const firstRow = async () => String(await senders.locator('tbody tr').first().textContent())
  const shownSenders = async () => (await senders.locator('tbody tr').count()).toString()

  for (const name of ['anna.fischer', 'bo.fischer', 'carl.olsen'])
    await order(`${name}@mail.example`, 'an order')
  await order(MARTA, 'an order')
  await mail(LEILA, 'Leïla Koval', 'where is my parcel?')

  test('a search is in the address, and Escape, ✕ and Back leave what it found', async () => {
    await show('people')
    await sender(MARTA).waitFor()
    const all = await shownSenders()
    await box.fill('fischer')
    await page.waitForURL(/#\/people\?search=fischer$/)
    await until(async () => (await shownSenders()) === '2', 'the two senders')
    await page.keyboard.press('Enter')
    await page.getByText('2 senders have this. Choose one of them below.').waitFor()
    await page.reload()
    await until(async () => (await shownSenders()) === '2', 'the two senders again')
    assert.equal(await box.inputValue(), 'fischer')

    await box.fill('carl')
    await page.keyboard.press('Enter')
    await title('carl.olsen@mail.example').waitFor()
    await page.goBack()
    await page.waitForURL(/#\/people\?search=carl$/)
    await sender('carl.olsen@mail.example').waitFor()
    assert.equal(await box.inputValue(), 'carl')
    await page.goForward()
    await page.getByRole('button', { name: 'Remove carl.olsen@mail.example on every gateway' }).click()
    await page.waitForURL(/#\/people$/)
    assert.equal(await box.inputValue(), '')
    await until(async () => (await shownSenders()) === all, 'all senders')

    await box.fill('fischer')
    await until(async () => (await shownSenders()) === '2', 'the filtered list')
    await box.press('Escape')
    await page.waitForURL(/#\/people$/)
    await until(async () => (await shownSenders()) === all, 'all senders again')
    await sender(MARTA).click()
    await title(MARTA).waitFor()
    await page.keyboard.press('Escape')
    await sender(MARTA).waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('keeps words that are typed as soon as another search is shown', async () => {
    await show('people?search=fischer')
    await until(async () => (await shownSenders()) === '2', 'the two senders')
    // In the task in which the place is shown, as on a slow machine.
    await page.evaluate(`new Promise((resolve) => {
      const type = () => {
        const box = document.querySelector('form.who input')
        box.value = 'carl'
        box.dispatchEvent(new Event('input', { bubbles: true }))
        resolve()
      }
      addEventListener('hashchange', type, { once: true })
      location.hash = '#/people'
    })`)
    await page.waitForURL(/#\/people\?search=carl$/)
    assert.equal(await box.inputValue(), 'carl')
  })

  test('the ✕ of an identity can be pressed, on a desk and on a phone', async () => {
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 844 })
      await show(`people?who=${encodeURIComponent(`*:${MARTA}`)}`)
      const remove = page.getByRole('button', { name: `Remove ${MARTA} on every gateway` })
      await remove.waitFor()
      const chip = page.getByRole('list', { name: 'Identities' }).getByRole('listitem')
      assert.equal(await chip.textContent(), `${MARTA} on every gateway✕`)
      // Its styles may arrive after its content.
      const isWhole = () => chip.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)
      await until(isWhole, `the whole identity at ${width}`)
      await remove.click()
      await page.waitForURL(/#\/people$/)
    }
  })

  test('on a phone, names have the width of the page, and the gateway is not cut off', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('people')
    await sender(MARTA).waitFor()
    const lines = await sender(MARTA).evaluate((link) => link.getClientRects().length)
    assert.equal(lines, 1)
    const rows = senders.locator('tbody tr')
    await rows.filter({ hasText: MARTA }).locator('.gist').getByText('an order').first().waitFor()
    await page.getByRole('button', { name: 'Filter' }).click()
    const isCut = await page
      .getByRole('combobox', { name: 'Gateway' })
      .evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    assert.equal(isCut, false)
    assert.equal(await senders.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), false)
    await shots('people-on-a-phone')
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('names are found with and without accents, in the list and with Ctrl-K, once each', async () => {
    for (const name of ['leila', 'LEÏLA', 'koval leïla']) {
      await show('people')
      await box.fill(name)
      await sender(`Leïla Koval · ${LEILA}`).waitFor()
      await until(async () => (await shownSenders()) === '1', name)
    }
    await order(LEILA.toUpperCase(), 'another order')
    for (const words of ['leïla', LEILA]) {
      await page.keyboard.press('Control+k')
      await dialog.getByRole('option').first().waitFor()
      await page.keyboard.type(words)
      const people = dialog.getByRole('option', { name: /person$/ })
      await people
        .filter({ hasText: `Leïla Koval · ${LEILA}` })
        .or(people.filter({ hasText: /shop/ }))
        .first()
        .waitFor()
      assert.equal(await people.count(), 1, words)
      await page.keyboard.press('Escape')
    }
  })

  test('a Slack user has a name in the list, the title, the identity and Ctrl-K', async () => {
    const said = { text: 'is anybody there?', user: 'U02TOMAS', ts: slack.nextTs() }
    await slack.sockets.deliver('events_api', callback(said))
    await until(async () => {
      const { messages } = Object(await daemon.invoke('message-search', { sender: 'U02TOMAS' }))
      return messages.length > 0
    }, 'the message')
    await show('people')
    await sender('name-U02TOMAS · U02TOMAS').click()
    await title('name-U02TOMAS').waitFor()
    await page.getByText('name-U02TOMAS · team:U02TOMAS').waitFor()
    await page.getByRole('button', { name: 'Erase …' }).click()
    await dialog.getByText('Erase name-U02TOMAS · team:U02TOMAS?').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('team:U02TOMAS')
    await dialog.getByRole('option', { name: /U02TOMAS.*person$/ }).waitFor()
    await dialog.getByRole('combobox').fill('team:u02t')
    await dialog.getByRole('option', { name: /^name-U02TOMAS · U02TOMAS.*person$/ }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('Enter right after a name in Ctrl-K waits for the person, and the list before is not around them', async () => {
    await show('people')
    await sender(MARTA).click()
    await title(MARTA).waitFor()
    const next = page.getByRole('button', { name: 'Next' })
    await next.waitFor()
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('leila')
    await page.keyboard.press('Enter')
    await title('Leïla Koval').waitFor()
    assert.equal(await next.count(), 0)
    await page.goBack()
    await title(MARTA).waitFor()
    await next.waitFor()
    await show('people')
    await sender(MARTA).waitFor()
    await box.fill('carl')
    await box.press('Enter')
    await title('carl.olsen@mail.example').waitFor()
    assert.equal(await next.count(), 0)
  })

  test('Ctrl-K does not begin with the removal of an identity that has the typed id', async () => {
    await show(`people?who=${encodeURIComponent('team:U02TOMAS')}`)
    await title('name-U02TOMAS').waitFor()
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('U02TOMAS')
    const remove = dialog.getByRole('option', { name: /^Remove team:U02TOMAS/ })
    await remove.waitFor()
    assert.doesNotMatch(String(await dialog.getByRole('option').first().textContent()), /^Remove/)
    await page.keyboard.press('Enter')
    await until(async () => (await dialog.count()) === 0, 'the choice')
    await title('name-U02TOMAS').waitFor()
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('remove team')
    await until(
      async () => /^Remove/.test(String(await dialog.getByRole('option').first().textContent())),
      'it',
    )
    await page.keyboard.press('Escape')
  })

  test('Ctrl-K has the conversation in which somebody waits before newer events of machines', async () => {
    const lena = 'lena.vogt@mail.example'
    await mail(lena, 'Lena Vogt', 'a deadly complaint')
    for (let index = 0; index < 8; index++) await order(lena, `order ${index}`)
    await until(async () => {
      const { conversations } = Object(await daemon.invoke('conversation-list', { unanswered: true }))
      return JSON.stringify(conversations).includes('deadly complaint')
    }, 'the complaint')
    await show('now')
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('lena')
    const found = dialog.getByRole('option', { name: /conversation$/ })
    await found.first().waitFor()
    assert.match(String(await found.first().textContent()), /deadly complaint.*support, waits \d+ s/)
    await dialog.getByRole('combobox').fill('waiting lena')
    await found.filter({ hasText: 'complaint' }).waitFor()
    await found.filter({ hasText: 'complaint' }).click()
    await page.getByRole('heading', { level: 1, name: /Lena Vogt/ }).waitFor()
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('answer')
    await dialog.getByRole('option', { name: /^Write an answer/ }).click()
    await until(
      async () => page.locator('textarea').evaluate((field) => field.matches(':focus')),
      'the field',
    )
  })

  test('the page begins with what is open: the conversation and who has it, approvals and retries', async () => {
    const petra = 'petra.novak@mail.example'
    await order(petra, 'refund 1240 EUR')
    await order(petra, 'stock of the lamp')
    await mail(petra, 'Petra Novak', 'the first mail')
    const conversation = async () => {
      const list = Object(await daemon.invoke('conversation-list', { sender: petra, gateway: 'support' }))
      return list.conversations[0]
    }
    await until(async () => Boolean((await conversation())?.reply), 'the answer to the first mail')
    const { gateway, conversation: name } = await conversation()
    await daemon.invoke('conversation-pause', { gateway, conversation: name, reason: 'I am calling her' })
    await daemon.invoke('conversation-note', { gateway, conversation: name, text: 'Sales knows about it.' })
    await until(
      async () => JSON.stringify(await daemon.invoke('approval-list', {})).includes('1240'),
      'the approval',
    )
    await until(async () => {
      const { messages } = Object(await daemon.invoke('message-search', { outcome: 'retrying' }))
      return messages.length === 1
    }, 'the retry')
    await show(`people?who=${encodeURIComponent(`*:${petra}`)}`)
    const row = (text: string) => open.getByRole('listitem').filter({ hasText: text })
    await row('a refund of 1240 EUR')
      .getByText(/^approval · /)
      .waitFor()
    await row('the first mail')
      .getByText(/has taken over.*I am calling her/)
      .waitFor()
    await row('the first mail')
      .getByRole('list', { name: 'Notes' })
      .getByText(/^Note of .+ ago: Sales knows about it\.$/)
      .waitFor()
    await row('stock of the lamp').getByText('the warehouse is away').waitFor()
    const answer = wrote.getByRole('listitem').filter({ hasText: /^↳ .*the first mail.*route all, ✓ sent/ })
    await answer.waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('open')
    await row('the first mail').getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: /in support$/ }).waitFor()
    await show(`people?who=${encodeURIComponent('*:bo.fischer@mail.example')}`)
    await page.getByText(/^Nothing is open/).waitFor()
  })

  test('the list shows what is open with whom, and can begin with them', async () => {
    smtp.misfortunes.push({ kind: 'refuse', code: 550, text: '5.1.1 no such mailbox' })
    await mail('h.olsen@mail.example', 'Halvor Olsen', 'the tent of Halldis')
    await until(async () => {
      const { conversations } = Object(await daemon.invoke('conversation-list', { sender: 'h.olsen' }))
      return conversations[0]?.undelivered
    }, 'the answer that is not delivered')
    await order('dora@mail.example', 'a deadly order')
    await order('zoe@mail.example', 'the newest order')
    await show('people')
    const row = (name: string) => senders.locator('tbody tr').filter({ hasText: name })
    await row('petra.novak')
      .getByText(/^approval/)
      .waitFor()
    await row('h.olsen')
      .getByText(/^failed · /)
      .waitFor()
    await row('dora@mail.example')
      .getByText(/^failed · /)
      .waitFor()
    await row('petra.novak')
      .getByText(/^retrying · /)
      .waitFor()
    // An order is an event, so Halvor wrote last.
    assert.match(await firstRow(), /^Halvor/)
    await senders.getByRole('button', { name: 'open' }).click()
    await page.waitForURL(/sort=open/)
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await senders.getByRole('columnheader', { name: 'open ↓' }).waitFor()
    assert.match(String(await senders.locator('tbody tr').first().textContent()), /dora|olsen|lena/)
    await senders.getByRole('button', { name: 'sender' }).click()
    await page.waitForURL(/sort=sender/)
    assert.match(String(await senders.locator('tbody tr').first().textContent()), /^anna/)
    assert.deepEqual(await faultsOf(page), [])
    await show(`people?who=${encodeURIComponent('*:dora@mail.example')}`)
    await open
      .getByRole('listitem')
      .filter({ hasText: 'a deadly order' })
      .getByText('the warehouse is away')
      .waitFor()
    await show('people')
    await shots('open-in-the-list')
  })

  test('the list has only those with whom something of a kind is open, with their number', async () => {
    await daemon.invoke('route-pause', { route: 'dead', reason: 'the bank is away' })
    for (const text of ['deadly one', 'deadly two']) await order('pia@mail.example', text)
    await until(async () => {
      const { messages } = Object(await daemon.invoke('message-search', { sender: 'pia@' }))
      return messages.length === 2
    }, 'both messages')
    await show('now')
    await show('people')
    // The list was open already.
    await page.reload()
    const row = (name: string) => senders.locator('tbody tr').filter({ hasText: name })
    await row('pia@mail.example').getByText('2 paused · ').waitFor()
    const tab = (name: RegExp) => page.getByRole('group', { name: 'Open' }).getByRole('button', { name })
    await tab(/^Paused 1$/).click()
    await page.waitForURL(/open=paused/)
    await until(async () => (await shownSenders()) === '1', 'the one that is paused')
    await tab(/^Failed \d$/).click()
    await row('dora@mail.example').waitFor()
    const many = await shownSenders()
    assert.equal(await tab(/^Failed/).textContent(), `Failed ${many}`)
    assert.match(
      String(await senders.locator('caption').textContent()),
      new RegExp(`^${many} of \\d+ senders`),
    )
    assert.deepEqual(await faultsOf(page), [])
    await page.reload()
    await until(async () => (await shownSenders()) === many, 'the same after a reload')
    // His answer was not delivered, so he waits too, as on his page.
    await tab(/^Unanswered [1-9]/).click()
    await row('h.olsen').waitFor()
    await tab(/^Taken over/).click()
    await tab(/^Everyone/).click()
    await daemon.invoke('route-resume', { route: 'dead' })
  })

  test('a list of what is open has what waits, the longest wait first, and no older order', async () => {
    const tab = (name: RegExp) => page.getByRole('group', { name: 'Open' }).getByRole('button', { name })
    const noor = 'noor@mail.example'
    await mail(noor, 'Noor Aziz', 'a deadly question')
    await until(async () => {
      const { people } = Object(await daemon.invoke('person-open', { identity: `*:${noor}` }))
      return people.length === 1
    }, 'the question')
    await order(noor, 'a newer order')
    await mail('bea@mail.example', 'Bea Lind', 'a deadly mail of Bea')
    await mail('bea@mail.example', 'Bea Lind', 'a refund for Bea')
    await show('people?sort=sender')
    await page.reload()
    await sender(`Noor Aziz · ${noor}`).waitFor()
    await tab(/^Failed/).click()
    await page.waitForURL(/people\?open=failed$/)
    const row = senders.getByRole('row').filter({ hasText: noor })
    await row.locator('.gist').getByText('a deadly question').first().waitFor()
    await row.locator('.gist').getByText('the warehouse is away').waitFor()
    assert.equal(await row.getByText('a newer order').count(), 0)
    assert.match(await firstRow(), /lena/)
    await senders.getByRole('columnheader', { name: 'what failed' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await row.locator('.gist').getByRole('link').click()
    await page.waitForURL(/#\/(messages|conversations)\//)
    await show('people')
    const sorted = page.getByRole('combobox', { name: 'Sorted by' })
    await sorted.selectOption('waits longest')
    await page.waitForURL(/sort=waits/)
    await until(async () => /^Lena Vogt/.test(await firstRow()), 'who waits longest')
    const bea = senders.getByRole('row').filter({ hasText: 'bea@mail.example' })
    const text = async () => String(await bea.textContent())
    await until(
      async () => /failed · .*approval · .*a deadly mail of Bea/.test(await text()),
      'what she waits for',
    )
    await senders.getByRole('button', { name: 'open' }).click()
    await page.waitForURL(/sort=open/)
    assert.equal(await sorted.locator('option:checked').textContent(), 'what failed')
    await until(async () => /failed · .*approval · .*the warehouse is away/.test(await text()), 'what failed')
    await show('people?open=any&sort=wrote')
    await page.waitForURL(/open=any&sort=wrote$/)
    await until(async () => /failed · .*approval · .*a deadly mail of Bea/.test(await text()), 'what is open')
    await tab(/^Approval/).click()
    await page.waitForURL(/people\?open=approval&sort=wrote$/)
    await show('people?sort=open')
    await senders.getByRole('button', { name: 'open' }).click()
    await page.waitForURL(/sort=waits/)
  })

  test('with a gateway or a time, the tabs count what their list has, with the names of all gateways', async () => {
    const tab = (name: RegExp) => page.getByRole('group', { name: 'Open' }).getByRole('button', { name })
    await show('people')
    await tab(/^Failed \d/).waitFor()
    await page.getByRole('combobox', { name: 'Gateway' }).selectOption('shop')
    await page.waitForURL(/gateway=shop/)
    // Orders of Dora and Pia failed. What failed for Noor, Lena and Halvor is mail.
    await tab(/^Failed 2$/).click()
    await until(async () => (await shownSenders()) === '2', 'what failed in the shop')
    await senders.getByRole('row').filter({ hasText: 'dora@mail.example' }).waitFor()
    await tab(/^Everyone/).click()
    const row = senders.getByRole('row').filter({ hasText: 'noor@mail.example' })
    await row.getByText('Noor Aziz').waitFor()
    assert.equal(await row.getByText('failed').count(), 0)
    await show('people?until=2026-01-01T00:00:00Z')
    await page.getByText('Nobody has written yet in this time.').waitFor()
    assert.match(String(await tab(/^Failed/).textContent()), /^Failed$/)
  })

  test('the list counts the messages of a time, like other lists', async () => {
    await show('people')
    await sender(MARTA).waitFor()
    await page.getByRole('combobox', { name: 'Time' }).selectOption('last hour')
    await page.waitForURL(/since=1h/)
    await sender(MARTA).waitFor()
    await show('people?until=2026-01-01T00:00:00Z')
    await page
      .getByText('No stored message is from such a sender')
      .or(page.getByText('Nobody has written yet in this time.'))
      .waitFor()
  })

  test('a click anywhere in the header of a column sorts by it', async () => {
    await show('people')
    await sender(MARTA).waitFor()
    const box = await senders.getByRole('columnheader', { name: 'sender' }).boundingBox()
    if (!box) assert.fail('no header')
    await page.mouse.click(box.x + box.width - 8, box.y + box.height / 2)
    await page.waitForURL(/sort=sender/)
  })

  test('a reply that is not delivered has its reason, and answers are below their question', async () => {
    await show(`people?who=${encodeURIComponent('*:h.olsen@mail.example')}`)
    const row = open.getByRole('listitem').filter({ hasText: 'Halldis' })
    await row.getByText(/no such mailbox/).waitFor()
    await page.getByText(/^1 message: 1 support/).waitFor()
    const text = wrote.getByRole('listitem').filter({ hasText: 'the tent of Halldis' }).first()
    await text
      .getByRole('link', { name: /the tent of Halldis/ })
      .first()
      .waitFor()
    await text
      .getByRole('listitem')
      .filter({ hasText: /^↳ .*the tent of Halldis.*not delivered/ })
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('a name that is only in texts leads to its conversation and to the messages', async () => {
    await show('people?search=Halldis')
    const named = page.getByRole('list', { name: 'Conversations', exact: true })
    await named.getByRole('link', { name: 'Halvor Olsen' }).waitFor()
    await page.getByRole('link', { name: 'Search all messages for “Halldis”' }).click()
    await page
      .getByText(/the tent of/)
      .first()
      .waitFor()
    await page.waitForURL(/messages\?.*Halldis/)
  })

  test('`erase` and a name in Ctrl-K ask whether to erase that person', async () => {
    await show('now')
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('erase anna')
    await dialog.getByRole('option', { name: /^Erase anna\.fischer@mail\.example …/ }).click()
    await dialog.getByRole('textbox', { name: 'to confirm' }).waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Erase', exact: true }).isDisabled())
    await page.keyboard.press('Escape')
    await page.waitForURL(/who=\*%3Aanna\.fischer%40mail\.example$/)
    await page.reload()
    await page.getByRole('region', { name: 'What is kept' }).waitFor()
    assert.equal(await dialog.count(), 0)
  })

  test('Enter opens the only hit, and stays in the list with several or none', async () => {
    await mail('nb77@mail.example', 'Nora Berg', 'the first of Nora')
    await order('nb77@mail.example', 'an order of nora')
    await mail('nils.berg@mail.example', 'Nils Berg', 'the first of Nils')
    const enter = async (text: string) => {
      await show('people')
      await box.fill(text)
      await box.press('Enter')
    }
    await enter('Nora Berg')
    await title('Nora Berg').waitFor()
    await show('people')
    await box.evaluate((field) => {
      Object(field).value = 'Nora Berg'
      field.dispatchEvent(new Event('input', { bubbles: true }))
      Object(field).form.requestSubmit()
    })
    await title('Nora Berg').waitFor()
    await enter('Berg')
    await page.getByText('2 senders have this. Choose one of them below.').waitFor()
    const first = page.locator('.senders [data-row]:focus').filter({ hasText: 'Nils Berg' })
    await until(async () => (await first.count()) === 1 && (await shownSenders()) === '2', 'the first row')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await title('Nora Berg').waitFor()
    // Changing the address of a page that is being left does not keep the page open.
    await show('people?search=berg')
    await page.locator('.senders [href*="nb77"]').waitFor()
    await page.evaluate(`document.querySelector('.senders [href*="nb77"]').click()
      document.querySelector('[aria-label="Open"] button:last-child').click()`)
    await title('Nora Berg').waitFor()
    await enter('Halldis Olsen')
    await page.getByText('No stored message is from such a sender.').waitFor()
    await page.waitForURL(/#\/people\?search=Halldis\+Olsen$/)
    await enter('nobody@mail.example')
    await title('nobody@mail.example').waitFor()
    await page.getByText('Nothing was found').waitFor()
  })

  test('identities with different names have both in the title, and a warning', async () => {
    const both = ['nb77@mail.example', 'nils.berg@mail.example'].map((name) => `*:${name}`)
    await show(`people?who=${encodeURIComponent(both.join('\n'))}`)
    await title('Nora Berg, Nils Berg').waitFor()
    await page.getByText('These identities have different names.').waitFor()
    await page.getByRole('button', { name: 'Remove nils.berg@mail.example' }).click()
    await title('Nora Berg').waitFor()
    await page.getByText('These identities have different names.').waitFor({ state: 'detached' })
  })

  test('a person who is found by name has the number of all their messages, also those without the name', async () => {
    await show('people?search=nora%20berg')
    const row = senders.getByRole('row').filter({ hasText: 'Nora Berg' })
    await row.getByText(/shop, support|support, shop/).waitFor()
    // A mail that they wrote, and an order.
    assert.deepEqual(await row.locator('td.number').allTextContents(), ['1', '1'])
    await page.getByText('1 sender in 2 messages').waitFor()
  })

  test('a pasted name with its address, and a mailto link, find the person', async () => {
    for (const pasted of ['"Koval, Leïla" <leila.koval@mail.example>', `mailto:${LEILA}?subject=Hello`]) {
      await show('people')
      await box.fill(pasted)
      await senders.getByRole('link', { name: /^Leïla Koval · leila\.koval@mail\.example$/i }).waitFor()
      await box.press('Enter')
      await title('Leïla Koval').waitFor()
      await page.keyboard.press('Control+k')
      await dialog.getByRole('option').first().waitFor()
      await page.keyboard.insertText(pasted)
      await dialog
        .getByRole('option', { name: /Leïla Koval · leila\.koval@mail\.example.*person$/i })
        .waitFor()
      await page.keyboard.press('Escape')
    }
  })

  test('the words of a search are marked in every column', async () => {
    await order('support@mail.example', 'to support')
    await show('people?search=support')
    const row = senders.getByRole('row').filter({ hasText: 'to support' })
    await row.locator('td:nth-child(1) mark').getByText('support').waitFor()
    await mail('support.team@mail.example', 'Support Team', 'a question')
    await show('people?search=support%20team')
    const other = senders.getByRole('row').filter({ hasText: 'a question' })
    await other.locator('td:nth-child(2) mark').getByText('support').waitFor()
  })

  test('the search has the focus when People is opened, and `/` finds it from the page of a person', async () => {
    await show('now')
    await page.getByRole('navigation').getByRole('link', { name: 'People' }).click()
    await until(async () => box.evaluate((field) => field.matches(':focus')), 'the focus')
    await sender(MARTA).waitFor()
    await box.press('ArrowDown')
    await until(async () => (await page.locator('.senders [data-row]:focus').count()) === 1, 'the first row')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'What is kept' }).waitFor()
    await page.keyboard.press('/')
    await until(async () => box.evaluate((field) => field.matches(':focus')), 'the focus again')
  })

  test('a phone offers the orders of the list', async () => {
    await mail(LEILA, 'Leïla Koval', 'and where is the second parcel?')
    await page.setViewportSize({ width: 390, height: 844 })
    await show('people')
    await page.getByRole('combobox', { name: 'Sorted by' }).selectOption('wrote most')
    await page.waitForURL(/sort=wrote/)
    await until(async () => /wrote 2/.test(await firstRow()), 'who wrote two texts')
    await senders.getByRole('row').filter({ hasText: 'lena.vogt' }).getByText('8 events').waitFor()
    await page.getByRole('combobox', { name: 'Sorted by' }).selectOption('waits longest')
    await page.waitForURL(/sort=waits/)
    await until(async () => /^Lena Vogt/.test(await firstRow()), 'who waits longest')
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('a long name does not hide what is open', async () => {
    const long = `${'prof.'.repeat(9)}hohenstaufen@${'very-long-'.repeat(5)}domain.example`
    await mail(long, 'Prof. Dr. Maximiliane Theodora Freifrau von und zu Hohenstaufen', 'a question')
    await show('people')
    await sender(`Prof. Dr. Maximiliane Theodora Freifrau von und zu Hohenstaufen · ${long}`).waitFor()
    assert.equal(await senders.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), false)
  })

  test('the list says which messages it counts, and counts older ones', async () => {
    const few = { ...Object(await daemon.invoke('person-list', {})) }
    const end = await intercept(page, '**/v1/skills/person-list', (route) =>
      route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), messages: 10 }) }),
    )
    await show('now')
    await show('people')
    await page.getByText(/ in the newest 10 messages, since /).waitFor()
    await senders.getByRole('row').filter({ hasText: /\d\+/ }).first().waitFor()
    while ((await page.getByRole('button', { name: 'Count older messages' }).count()) > 0) {
      const before = await senders.locator('caption').textContent()
      await page.getByRole('button', { name: 'Count older messages' }).click()
      await until(async () => (await senders.locator('caption').textContent()) !== before, 'another page')
    }
    await page.getByText(`${few.total} senders in ${few.messages} messages`).waitFor()
    assert.doesNotMatch(String(await senders.textContent()), /\d\+/)
    await end()
  })
})
