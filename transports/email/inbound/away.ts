/**
 * Whether a subject is one that mail programs write when someone is away: `Automatic reply: Help`,
 * `Abwesenheitsnotiz: Help`. Many of them send no header for it. The words alone are not enough,
 * because a person may write about automatic replies, or answer one.
 */
export function isAwaySubject(subject = ''): boolean {
  const text = folded(subject.slice(0, MAX_SUBJECT)).replace(TAGS, '')
  const rest = restAfter(REPLIES, text)
  if (rest !== undefined && REPLY_END.test(rest)) return true
  const away = restAfter(AWAY, text)
  if (away !== undefined && AWAY_END.test(away)) return true
  if (HCL_NOTES.test(text)) return true
  const reply = restAfter(BEFORE_REPLY, text)
  return reply !== undefined && REPLY_START.test(reply)
}

const MAX_SUBJECT = 300
/** Prefixes that mail filters add (`[EXT]`), and a bracket before the words. */
const TAGS = /^\s*(?:\[(?:ext|extern\w{0,3})\]\s*)?[[【(「『*"«~-]?\s*/

/** What may follow the name of a reply: a colon, a bracket, the answered subject, or nothing. */
const REPLY_END = /^\s*(?:$|[:\]】)」』"»*]|(?:re|aw|sv|vs|odp|ynt|tr)\s?:)/
/** Words before the beginning or the end of an absence: `out of office until Monday`. */
const TIMES = [
  'until|till|from|thru|through',
  'bis|vom|ab',
  'jusqu|du',
  'hasta|desde|del',
  'fino|dal',
  String.raw`tot|t\/m|van`,
  'ate|do',
  'od',
  'tom|till|fra|til',
  'asti|zacatku',
]
/** What may follow the words for being away. */
const AWAY_END = new RegExp(
  [
    String.raw`^\s*(?:$`,
    String.raw`[:\]】)」』"»*!]`,
    String.raw`[-–—]\s`,
    String.raw`re\s?:`,
    'auto(?:matic)?[ -]?(?:reply|response|antwort)',
    String.raw`(?:reply|message|notification)\b`,
    String.raw`(?:${TIMES.join('|')})\b`,
    String.raw`\d)`,
  ].join('|'),
)

/** Names of automatic replies, as programs write them. */
const REPLIES = words(`
automatic reply|automatic response|auto generated|auto-generated|automated reply|automated response|auto reply|auto-reply|autoreply|
auto response|auto-response|autoresponse|autoresponder|auto-responder|vacation reply|vacation response|
vacation message|vacation autoreply|out of office autoreply|out of office auto-reply|out of office reply|
out of office response|automatische antwort|automatische ruckantwort|automatische abwesenheitsnotiz|
automatische abwesenheitsmeldung|abwesenheitsnotiz|abwesenheitsbenachrichtigung|abwesenheitsmeldung|
abwesenheitsnachricht|abwesenheitsassistent|abwesenheitsagent|autom. antwort|autoantwort|auto-antwort|
urlaubsmeldung|urlaubsnotiz|urlaubsbenachrichtigung|reponse automatique|reponse auto|message automatique|
message d'absence|message d’absence|notification d'absence|notification d’absence|avis d'absence|
avis d’absence|respuesta automatica|respuesta automatizada|contestacion automatica|mensaje automatico|
aviso de ausencia|mensaje de ausencia|risposta automatica|risponditore automatico|messaggio automatico|
notifica di assenza|avviso di assenza|automatisch antwoord|automatische reactie|automatische beantwoording|
afwezigheidsbericht|afwezigheidsmelding|afwezigheidsassistent|resposta automatica|mensagem automatica|
mensagem de ausencia|automatyczna odpowiedz|odpowiedz automatyczna|autoodpowiedz|autosvar|auto-svar|
automatiskt svar|automatisk svar|franvaromeddelande|franvarobesked|fraværsmelding|fraværsmeddelelse|
fraværsassistent|fraværssvar|ferieautosvar|automaattinen vastaus|automaattivastaus|poissaoloilmoitus|
poissaoloviesti|lomavastaaja|automaticka odpoved|oznameni o nepritomnosti|oznamenie o nepritomnosti|自動応答|
自動返信|自動応答メール|自動返信メール|不在通知|不在応答|自動回覆|自動回應|自動答覆|自动答复|自动回复|自动应答|자동 회신|자동회신|자동 응답|자동응답|부재중 자동 회신|otomatik yanıt|
otomatik yanit|otomatik cevap|otomatik ileti|ofis dısı yanıtı|ofis disi yaniti|автоматическии ответ|
автоответ|автоматична відповідь|автовідповідь|автоматичен отговор|automatikus valasz|raspuns automat|
αυτοματη απαντηση|automatski odgovor|samodejni odgovor|automaatvastus|automatinis atsakymas|
automatiska atbilde|tra lời tự động|tra loi tu dong|balasan otomatis|ตอบกลับอัตโนมัติ|רד אוטומטי|
תשובה אוטומטית|מענה אוטומטי|رد تلقائي|الرد التلقائي`)

/** Phrases for being away, of people and programs. */
const AWAY = words(`
out of office|out of the office|away|out-of-office|ooo|ooto|away from the office|away from my mail|
away from office|on vacation|on annual leave|on holiday|on leave|on parental leave|on maternity leave|
currently out of office|abwesend|nicht im buro|nicht im haus|außer haus|ausser haus|im urlaub|
absence du bureau|absent du bureau|absente du bureau|en conges|en vacances|hors du bureau|
fuera de la oficina|fuera de oficina|fuera del despacho|ausente|de vacaciones|fuori sede|fuori ufficio|
fuori dall'ufficio|assente|in ferie|afwezig|niet op kantoor|buiten kantoor|niet aanwezig|op vakantie|
fora do escritorio|fora da escritorio|ausente do escritorio|de ferias|poza biurem|nieobecny|nieobecna|
na urlopie|ej pa kontoret|inte pa kontoret|franvarande|pa semester|ikke pa kontoret|fraværende|
borte fra kontoret|pa ferie|ute av kontoret|ikke til stede|poissa|poissa toimistosta|en ole toimistolla|
lomalla|mimo kancelar|nepritomen|nepritomna|mimo kancelarie|na dovolene|不在のお知らせ|外出中|休暇中|夏季休暇のお知らせ|不在办公室|
不在辦公室|休假中|休假通知|外出通知|부재중|부재 중|부재 중 알림|ofis dısında|ofis disinda|ofis dısı|ofis disi|buro dısında|izindeyim|
yıllık izin|вне офиса|нет на работе|нет на месте|в отпуске|поза офісом|у відпустці|hazon kivul|szabadsagon|
in afara biroului|εκτος γραφειου|van ureda|van kontora|מחוץ למשרד|خارج المكتب|di luar kantor`)

/**
 * HCL Notes writes `AUTO: Anna Ekman is out of the office (returning 12/01/2026)`, in the language of
 * the person.
 */
const HCL_NOTES =
  /^auto:\s.{1,150}(?:\bout of (?:the )?office\b|\((?:returning|ruckkehr|rueckkehr|zuruck|de retour|retour|regres|ritorno|terug)\b)/

/** Words that mean an automatic reply only before the subject of a reply: `Urlaub: Re: Help`. */
const BEFORE_REPLY = words(`
auto|vacation|annual leave|holiday|urlaub|ferien|conges|vacances|vacaciones|ferie|ferias|absence|absent|absente|ausencia|assenza|abwesenheit|afwezigheid|nieobecnosc|franvaro|fravær|
poissaolo|nepritomnost|отпуск|휴가|休假|外出|不在`)
const REPLY_START = /^\s*[:-]?\s*(?:re|aw|antw|sv|vs|odp|ynt|r|rif|res)\s?:/

function restAfter(starts: readonly string[], text: string): string | undefined {
  const start = starts.find((each) => text.startsWith(each))
  return start === undefined ? undefined : text.slice(start.length)
}

/** Removes case and accents, because some programs omit accents. */
function folded(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[ \t\u00a0]+/g, ' ')
}

/** Longest first, so that the most specific words match. */
function words(list: string): string[] {
  const all = list.replaceAll('\n', '').split('|').map(folded)
  return [...new Set(all)].sort((a, b) => b.length - a.length)
}
