/**
 * The new part of a mail's text: without quoted text and without the signature, as a person would read it out.
 * A mail that is no reply keeps its `>` lines, which are its own then. Where nothing would be left, the whole
 * text. Takes time linear in the text, whatever is in it: libraries that do this with backtracking expressions
 * can be stopped for minutes by one hostile line.
 */
export function newPart(text: string, kind: 'reply' | 'first'): string {
  const lines = text.split('\n').map((line) => line.trimEnd())
  const kept = withoutSignature(withoutQuotes(lines, kind))
  return kept.join('\n').trim() || text.trim()
}

/** Nobody's attribution line is longer; longer lines are not looked at. */
const MAX_ATTRIBUTION = 400

/** How clients introduce a quote: what such a line starts with, and what it holds. It ends with a colon. */
const ATTRIBUTIONS: [start: string[], verb: string[]][] = [
  [
    ['on ', '-----on '],
    [' wrote', ' writes'],
  ],
  [['am ', 'on '], [' schrieb']],
  [
    ['le ', 'il ', 'el ', 'em ', 'op ', 'den ', 'dnia ', 'w dniu ', 'on ', 'pe ', 'dne '],
    [
      ' a écrit',
      ' ha scritto',
      ' escribió',
      ' escreveu',
      ' schreef',
      ' skrev',
      ' napisał',
      ' pisze',
      ' kirjoitti',
      ' napsal',
    ],
  ],
  [
    ['在', '20'],
    ['写道', '作成', 'のメッセージ', '작성'],
  ],
]

const SEPARATORS = [
  'original message',
  'ursprüngliche nachricht',
  'originalnachricht',
  "message d'origine",
  'message original',
  'messaggio originale',
  'mensaje original',
  'mensagem original',
  'oorspronkelijk bericht',
  'oprindelig besked',
  'ursprungligt meddelande',
  'reply above this line',
]

/** Names of the header block that Outlook puts before a quote. */
const BLOCK_FIRST = ['from', 'von', 'de', 'da', 'van', 'från', 'fra', 'od', 'lähettäjä']
const BLOCK_REST = [
  ...['sent', 'date', 'to', 'cc', 'subject'],
  ...['gesendet', 'datum', 'an', 'betreff'],
  ...['envoyé', 'à', 'objet', 'inviato', 'data', 'a', 'oggetto'],
  ...['enviado', 'enviada', 'fecha', 'para', 'asunto', 'assunto'],
  ...['verzonden', 'aan', 'onderwerp', 'skickat', 'till', 'ämne', 'sendt', 'til', 'emne'],
]

const DEVICE_SIGNATURES = [
  'sent from my ',
  'sent from mail for ',
  'sent from outlook',
  'sent from yahoo',
  'sent with proton',
  'get outlook for ',
  'von meinem ',
  'gesendet mit ',
  'envoyé de mon ',
  'enviado desde mi ',
  'inviato da ',
  'verstuurd vanaf mijn ',
  'skickat från min ',
]

function withoutQuotes(lines: string[], kind: 'reply' | 'first'): string[] {
  const kept: string[] = []
  let reply = kind === 'reply'
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const introduction = attributionLength(lines, at)
    if (introduction > 0) {
      reply = true
      const next = firstFilled(lines, at + introduction)
      // Without `>` before it, what follows cannot be told from the quote: it is all quote.
      if (next === undefined || !lines[next]?.startsWith('>')) return kept
      at += introduction - 1
      continue
    }
    if (isSeparator(line) || isHeaderBlock(lines, at)) return kept
    if (reply && line.startsWith('>')) continue
    kept.push(line)
  }
  return kept
}

/** How many lines an attribution takes from here, as clients wrap it; 0 where there is none. */
function attributionLength(lines: string[], at: number): number {
  let joined = ''
  for (let length = 1; length <= 3; length++) {
    const line = lines[at + length - 1]?.trim()
    if (!line) return 0
    joined = joined === '' ? line : `${joined} ${line}`
    if (joined.length > MAX_ATTRIBUTION) return 0
    if (length === 1 && !startsAttribution(joined)) return 0
    if (isAttribution(joined)) return length
  }
  return 0
}

/** What attributions start with, by their first two characters: most lines are told apart by these. */
const FIRST_TWO = new Set(ATTRIBUTIONS.flatMap(([starts]) => starts.map((start) => start.slice(0, 2))))

function startsAttribution(line: string): boolean {
  const two = line.slice(0, 2).toLowerCase()
  if (!FIRST_TWO.has(two) && !FIRST_TWO.has(two.slice(0, 1))) return false
  const text = line.toLowerCase()
  return ATTRIBUTIONS.some(([starts]) => starts.some((start) => text.startsWith(start)))
}

function isAttribution(line: string): boolean {
  if (!line.endsWith(':') && !line.endsWith('：') && !line.endsWith('-----')) return false
  const text = line.toLowerCase()
  return ATTRIBUTIONS.some(
    ([starts, verbs]) =>
      starts.some((start) => text.startsWith(start)) && verbs.some((verb) => text.includes(verb)),
  )
}

function isSeparator(line: string): boolean {
  const text = line.trim()
  if (text.length > 80 || !(text.startsWith('--') || text.startsWith('##'))) return false
  const words = text.replaceAll(/^[-#\s]+|[-#\s]+$/g, '').toLowerCase()
  return SEPARATORS.some((each) => words.startsWith(each))
}

/** `From: …` with two more such lines right below it. */
function isHeaderBlock(lines: string[], at: number): boolean {
  const name = blockName(lines[at])
  if (!name || !BLOCK_FIRST.includes(name)) return false
  let found = 0
  for (let next = at + 1; next <= at + 5; next++) {
    const following = blockName(lines[next])
    if (following && BLOCK_REST.includes(following)) found++
  }
  return found >= 2
}

function blockName(line: string | undefined): string | undefined {
  if (!line?.includes(':')) return undefined
  const text = line.replaceAll('*', '').trim()
  const colon = text.indexOf(':')
  return colon > 0 && colon < 20 ? text.slice(0, colon).trim().toLowerCase() : undefined
}

function withoutSignature(lines: string[]): string[] {
  // RFC 3676, section 4.3: "-- " on a line of its own. Trailing space is lost on the way as often as not.
  const mark = lines.findIndex((line, index) => line === '--' && index > 0)
  const body = mark === -1 ? lines : lines.slice(0, mark)
  const last = body.findLastIndex((line) => line.trim() !== '')
  const text = body[last]?.trim().toLowerCase() ?? ''
  const device = text.length < 120 && DEVICE_SIGNATURES.some((start) => text.startsWith(start))
  const rule = /^_{5,}$/.test(body[last - 1]?.trim() ?? '')
  return device ? body.slice(0, rule ? last - 1 : last) : trimRule(body)
}

/** Outlook draws a line of underscores between a reply and what it quotes. */
function trimRule(lines: string[]): string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return /^_{10,}$/.test(lines[last]?.trim() ?? '') ? lines.slice(0, last) : lines
}

function firstFilled(lines: string[], from: number): number | undefined {
  const at = lines.slice(from, from + 5).findIndex((line) => line.trim() !== '')
  return at === -1 ? undefined : from + at
}
