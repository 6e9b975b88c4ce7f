import { announcesAnswers, isClosing, isGreeting } from './answer-words.ts'
import { hasOtherWords } from './known-words.ts'
import { indexOfFilled } from './lines.ts'
import type { Mailbox } from './parse.ts'

/** A reply in two parts: the text above an unmarked quote, and the quote without its headers. */
export type Reply = {
  top: readonly string[]
  quote: readonly string[]
  /** The part of `quote` before the next mail that it quotes itself. */
  latest: readonly string[]
  /** The author of the quoted mail, according to its headers or attribution. */
  author: string
  sender: Partial<Mailbox> | undefined
  /** The fingerprint of the quoted mail, if we sent it. */
  fingerprint: string | undefined
}

/**
 * Whether a person may have written within the quote, as in Outlook, which does not mark quotes. In
 * doubt true, so that no answers are lost. Signs are announced answers ("see below, in red"), no
 * text above the quote, lines that start with the sender's name, initials or an arrow, answered
 * questions, the sender's name below, and words that the quoted mail does not contain.
 */
export function hasAnswersInside({ top, quote, latest, author, sender, fingerprint }: Reply): boolean {
  const names = namesOf(sender)
  return (
    announcesAnswers(top.join('\n')) ||
    saysNothing(top, names) ||
    quote.some((line) => hasNameLabel(line, names)) ||
    latest.some((line) => ANSWER_LABEL.test(line) || hasArrow(line) || isBracketed(line)) ||
    hasDoubleMarks(latest) ||
    isSigned(latest, names) ||
    hasAnsweredQuestions(latest, author) ||
    hasAnsweredItems(latest, author) ||
    (fingerprint !== undefined && hasOtherWords(withoutBanners(latest), fingerprint))
  )
}

const ANSWER_LABEL =
  /^\s*(?:a|ans|answer|reply|response|comment|antwort|aw|kommentar|anmerkung|réponse|rép|r|respuesta|resp|comentario|resposta|risposta|commento|antwoord|reactie|svar|vastaus|kommentti|odpowiedź|odpověď|odpoveď|válasz|răspuns|ответ|комментарий|відповідь|cevap|yanıt|απάντηση|答|回答|回复|回覆|답변|답)\s?\d{0,2}\s?(?:[:：>]|-+>)\s*\S/iu
const ARROW =
  /^\s*(?:[-=~]{1,3}>|<{2,}|»|►|▶|→|⇒|➔|➜|➡|\*{2,}|\/\/|#{2,}|@{2,}|\+{2,})\s*[^\s<>*=_#/@+~-]|[?？]\s*(?:[-=~]{1,3}>|→|⇒|➔|➜|\.{3,}|[-–—]{1,2}\s)\s*\S/u
const BRACKETED = /^\s*[[{](\p{L}[\p{L}\d .'-]{0,24})[\]}]\s*[:>-]?\s*\S/u
/**
 * Bracketed texts of programs: placeholders of Outlook, warnings of mail servers, names of trackers
 * and lists.
 */
const LABEL =
  /^(?:image|cid|logo|external|extern|ext|caution|warning|photo|picture|icon|inline|bild|spam|mail|mailto|http|jira|ticket|case|patch|bug|issue|request|ref|order|internal|confidential|public|link|button|video|attachment|file|signature|unsubscribe|view|click)\b/i
/** The start of a warning or disclaimer of a mail server: "*** EXTERNAL EMAIL ***". */
const BANNER =
  /^\W*(?:external|extern|caution|warning|achtung|attention|vorsicht|disclaimer|confidential|important|note|this (?:e-?mail|message)|diese (?:e-?mail|nachricht)|ce (?:message|courriel))\b/i
const QUESTION = /[?？؟]["'”’)\]]*$/
const SAME_LINE_ANSWER = /[?？]\s+(?:\S+\s+){0,3}[^\s?？]+$/
const LIST_ITEM = /^\s*(?:\(?\d{1,2}[.):]|[a-z][.)]|[-*•·–])\s+\S/i
/** Maximum characters of a line that can be an answer. */
const MAX_ANSWER = 80
/** Maximum characters of an answer that is the last line. */
const MAX_LAST_ANSWER = 40
/** Maximum characters of the lines of an answered list. */
const MAX_ITEM = 60
/** Longer lines are not searched for names. */
const MAX_LINE = 1_000

/** Removes warnings that mail servers put above a mail, and disclaimers below it. */
function withoutBanners(lines: readonly string[]): readonly string[] {
  const end = lines.findIndex((line, at) => at > lines.length / 2 && BANNER.test(line))
  return lines.slice(0, end < 0 ? undefined : end).filter((line) => !BANNER.test(line))
}

/** Whether there is only a greeting, a name or an introduction ("My answers:") above the quote. */
function saysNothing(top: readonly string[], names: ReadonlySet<string>): boolean {
  const filled = top.map((line) => line.trim()).filter((line) => line !== '')
  const last = filled.at(-1)
  if (last === undefined || /[:：]$/.test(last)) return true
  const isPolite = (line: string) => isGreeting(line) || isClosing(line) || names.has(nameIn(line))
  // "Hello" alone may be the complete answer; "Hello Bob," continues elsewhere.
  const isAddressed = filled.length > 1 || /[\s,]/.test(last)
  return isAddressed && isGreeting(filled[0] ?? '') && filled.every(isPolite)
}

/**
 * Whether a name of the sender labels the line: "[Anna] yes", "Anna: yes", "AE> yes", "yes (AE)".
 */
function hasNameLabel(line: string, names: ReadonlySet<string>): boolean {
  if (names.size === 0 || line.length > MAX_LINE) return false
  const [, before = ''] =
    /^\s*[[({<*@]*([\p{L}][\p{L}. '-]{0,40}?)\s*(?:[\])}>*:：]|[-=]{1,2}>)/u.exec(line) ?? []
  if (names.has(nameIn(before)) && nameIn(line) !== nameIn(before)) return true
  const [, behind = ''] = /[[({]([\p{L}][\p{L}. '-]{0,40})[\])}]\s*$/u.exec(line.slice(-50)) ?? []
  return names.has(nameIn(behind))
}

function hasArrow(line: string): boolean {
  return ARROW.test(line) && !BANNER.test(line)
}

function isBracketed(line: string): boolean {
  const [, inside] = BRACKETED.exec(line) ?? []
  return inside !== undefined && !LABEL.test(inside)
}

/** ">> yes", unless it is a nested quote. */
function hasDoubleMarks(latest: readonly string[]): boolean {
  return latest.some((line) => /^>>\s?[^\s>]/.test(line)) && !latest.some((line) => /^>(?!>)/.test(line))
}

/** Whether the sender's name is on a line of its own that is not a salutation. */
function isSigned(latest: readonly string[], names: ReadonlySet<string>): boolean {
  const first = latest.findIndex((line) => line.trim() !== '')
  return latest.some((line, at) => at > first && !/[,:!]\s*$/.test(line) && names.has(nameIn(line)))
}

/**
 * Whether there is an answer on the line after its question or at the very end, or two answers
 * further below their questions or on the same line.
 */
function hasAnsweredQuestions(latest: readonly string[], author: string): boolean {
  const last = latest.findLastIndex((line) => line.trim() !== '')
  let answersBelow = 0
  let answersOnLine = 0
  for (const [at, line] of latest.entries()) {
    if (SAME_LINE_ANSWER.test(line.slice(-MAX_ITEM)) && ++answersOnLine > 1) return true
    if (!QUESTION.test(line.trimEnd())) continue
    const next = indexOfFilled(latest, at + 1)
    const answer = latest[next] ?? ''
    if (!isAnswer(answer, author)) continue
    if (next === at + 1 || (next === last && answer.length <= MAX_LAST_ANSWER)) return true
    if (++answersBelow > 1) return true
  }
  return false
}

function isAnswer(line: string, author: string): boolean {
  if (line.length > MAX_ANSWER || !/[\p{L}\d]/u.test(line)) return false
  // The author's own name below a question is the signature.
  if (nameIn(author).includes(nameIn(line))) return false
  return !QUESTION.test(line) && !LIST_ITEM.test(line) && !isClosing(line) && !isGreeting(line)
}

/** Whether a short line follows each of at least two short list items. */
function hasAnsweredItems(latest: readonly string[], author: string): boolean {
  const items = latest.flatMap((line, at) => (LIST_ITEM.test(line) ? [at] : []))
  const answered = items.filter((at) => {
    const [item = '', next = '', after = ''] = latest.slice(at, at + 3)
    const isSingle = after.trim() === '' || LIST_ITEM.test(after)
    return item.length < MAX_ITEM && next.length < MAX_ITEM && isAnswer(next, author) && isSingle
  })
  return answered.length > 1 && answered.length >= items.length - 1
}

/** Full name, first and last name, initials, and parts of the address, in lower case. */
function namesOf(sender: Partial<Mailbox> | undefined): ReadonlySet<string> {
  const local = sender?.address?.replace(/@.*$/, '').replace(/\+.*$/, '') ?? ''
  const parts = [sender?.name ?? '', local.replaceAll(/[._-]+/g, ' ')].map((each) =>
    each
      .toLowerCase()
      .replaceAll(/[",()]/g, ' ')
      .split(/\s+/)
      .filter((word) => word !== ''),
  )
  const names = parts.flatMap((words) => [
    ...words,
    words.join(' '),
    words.join(''),
    words.toReversed().join(' '),
    words.map((word) => word[0]).join(''),
  ])
  return new Set(names.map(nameIn).filter((name) => name.length > 1))
}

/** A line as a name: in lower case, only letters, digits and single spaces. */
function nameIn(line: string): string {
  return line
    .toLowerCase()
    .replaceAll(/[^\p{L}\d\s]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
