import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'

const ANNA = { name: 'Anna Ekman', address: 'anna.ekman@example.net' }
const BLOCK =
  'From: Bob Miller <bob@example.org>\nSent: Monday, March 2, 2026 10:00 AM\nTo: Anna Ekman\nSubject: x'
const MARK = 'On Mon, Mar 2, 2026 at 10:00 AM Bob Miller <bob@example.org> wrote:'
const PLAIN = 'The order is on its way.\n\nIt comes tomorrow.'

/** Announcements of answers within the quote, from public threads. */
const ANNOUNCED = [
  'Hi Bob, see my comments.|Please see below.|Answered inline.|My answers are in red.|See my responses in blue below',
  'Comments in CAPS|I have marked my answers|Replies interspersed|Please find my answers highlighted|See [Anna] below',
  'Siehe unten.|Meine Antworten in Rot.|Antworten im Text|Kommentare s.u.|Meine Anmerkungen stehen dazwischen',
  'Voir ci-dessous|Mes réponses en bleu|Réponses dans le texte|Je réponds en rouge|cf. infra',
  'Respondo abajo|Mis respuestas en rojo|Ver más abajo|Las respuestas a continuación',
  'Respostas abaixo|Em vermelho|Respondo no corpo do email|Vedi sotto|Rispondo in rosso|Le mie risposte nel testo',
  'Zie hieronder|Mijn antwoorden in het rood|Antwoorden in de tekst|Se nedan|Mina svar i rött|Svar i texten',
  'Se nedenfor|Mine svar med rødt|Svar herunder|Mine svar i teksten|Katso alla|Vastaukset punaisella',
  'Patrz poniżej|Odpowiedzi na czerwono|Viz níže|Odpovědi červeně|Pozri nižšie|Lásd lent|Válaszaim pirossal',
  'Vezi mai jos|Răspunsurile mele cu roșu|Aşağıda|Cevaplarım kırmızı|Δείτε παρακάτω|Απαντώ με κόκκινο',
  'Ответы ниже.|Отвечаю красным|Комментарии в тексте|Відповіді нижче|Вижте по-долу|Vidi ispod|Glej spodaj',
  '请看下面|见下文|我用红色标注了|下記の通りです|赤字で回答します|本文中に記載|아래에 답변드립니다|빨간색으로 표시했습니다',
  'ראה למטה|עניתי באדום|انظر أدناه|Xem bên dưới|Jawaban di bawah|ดูด้านล่าง|Žr. žemiau|Skatīt zemāk|Vaata allpool',
].flatMap((line) => line.split('|'))

/** Quotes with answers that are not announced. */
const ANSWERED: Record<string, string> = {
  'each below its question': '1. Which size?\nXL please\n2. Which colour?\nRed',
  'below two questions, apart': 'Which size?\n\nXL please\n\nWhich colour?\n\nRed\n\nBob',
  'below the last question': 'Which size do you need?\n\nXL please',
  'on the line of the question': 'Can you come? No, Monday.\nAnd the keys? Both.\n\nBob',
  'below the items of a list': '- Size\nXL\n- Colour\nRed\n\nBob',
  'with the name in brackets': 'Please come on Friday.\n\n[Anna] Monday is better.\n\nBob',
  'with initials in brackets': 'Please come on Friday.\n\n[AE] Monday is better.\n\nBob',
  'with the initials behind': 'Please come on Friday.\n\nMonday is better (AE)\n\nBob',
  'with somebody else in brackets': 'Please come on Friday.\n\n[Support team] Monday is better.\n\nBob',
  'with the name and a colon': 'Please come on Friday.\n\nAnna: Monday is better.\n\nBob',
  'with the address and an arrow': 'Please come on Friday.\n\nanna.ekman> Monday is better.\n\nBob',
  'with an arrow': 'Please come on Friday.\n\n--> Monday is better.\n\nBob',
  'with another arrow': 'Please come on Friday.\n=> Monday is better.\n\nBob',
  'with a typed arrow': 'Please come on Friday.\n\n→ Monday is better.\n\nBob',
  'with two marks': 'Please come on Friday.\n\n>> Monday is better.\n\nBob',
  'with stars': 'Please come on Friday.\n\n** Monday is better **\n\nBob',
  'with slashes': 'Please come on Friday.\n\n// Monday is better\n\nBob',
  'with a label': 'Please come on Friday.\n\nAnswer: Monday is better.\n\nBob',
  'with a label in German': 'Bitte am Freitag.\n\nAntwort: Montag passt besser.\n\nBob',
  'with the own name beneath': 'Please come on Friday.\n\nMonday is better.\n\nAnna',
}

/** Quotes without words of the sender, below an answer. */
const ORIGINALS: Record<string, string> = {
  'a question, and its author': 'Hi Anna,\n\nCan you come on Friday?\n\nThanks,\nBob',
  'a question, and the name alone': 'Hi Anna,\n\nWhen can you come?\n\nBob',
  'a question and a farewell':
    'Dear Anna,\n\nDo you want it?\n\nKind regards\n\nBob Miller\nCEO\n[cid:image001.png]',
  'the recipient as a salutation': 'Anna,\n\nyour order is on its way.\n\nBob',
  'a list': 'Please bring:\n\n- keys\n- a pen\n- your badge\n\nBob',
  'a warning of the mail server':
    '*** EXTERNAL EMAIL: do not click links ***\n\nHi Anna,\n\nIt is late.\n\nBob',
  'a notice of a tracker': '[JIRA] Bob changed the order\n\n[Ticket 50] It is late.\n(a) one\n(b) two',
  'an older mail, with its questions': `As I said.\n\n${BLOCK}\n\nWhich size?\nXL please`,
}

describe('answers within an unmarked quote', () => {
  test('stay if the text above announces them, in any language', () => {
    for (const words of ANNOUNCED) {
      const text = `${words}\n\n${BLOCK}\n\n${PLAIN}`
      assert.equal(newPart(text, 'reply', ANNA), text, words)
    }
  })

  test('stay if the text above has no content of its own', () => {
    for (const above of [
      'Hi Bob,',
      'Hallo Bob,\n\nViele Grüße\nAnna',
      'Bonjour Bob,',
      'Answers:',
      'Dear Bob\n\nAnna Ekman',
      '',
    ]) {
      const text = `${above}\n\n${BLOCK}\n\n${PLAIN}`
      assert.equal(newPart(text, 'reply', ANNA), text.trim(), above)
    }
  })

  for (const [place, quote] of Object.entries(ANSWERED)) {
    test(`stay ${place}`, () => {
      for (const introduction of [BLOCK, MARK, `-----Original Message-----\n${BLOCK}`]) {
        const text = `Thanks, Bob.\n\n${introduction}\n\n${quote}`
        assert.equal(newPart(text, 'reply', ANNA), text)
      }
    })
  }

  test('stay, and the quote is removed, if the quote below the headers is marked', () => {
    const text = `Ok.\n\n${BLOCK}\n\n> Which size?\nXL\n> Which colour?\nRed`
    assert.equal(newPart(text, 'reply', ANNA), 'Ok.\n\n\nXL\nRed')
  })
})

describe('a quote without answers', () => {
  for (const [content, quote] of Object.entries(ORIGINALS)) {
    test(`is removed: ${content}`, () => {
      for (const answer of ['Yes, of course.', 'Monday works.\n\nBest regards\nAnna', 'Hello', 'Thanks!'])
        assert.equal(newPart(`${answer}\n\n${BLOCK}\n\n${quote}`, 'reply', ANNA), answer)
    })
  }
})
