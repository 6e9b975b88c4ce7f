import { words } from './quote-words.ts'

/**
 * Signatures of devices and apps: a line starts with one of the first list and contains one of the
 * second.
 */
const STARTS = words(`
sent from |sent with |sent via |sent using |<<sent by |(sent from |(sent with |(sent via |get outlook for |
get [outlook for |von meinem |von meinem/|von meiner |gesendet von |gesendet mit |gesendet via |gesendet über |
diese nachricht wurde von meine|diese nachricht wurde mit |outlook für |holen sie sich outlook |
laden sie outlook |envoyé de |envoyé depuis |envoyé à partir |envoyé avec |envoyé via |obtenir outlook |
obtenez outlook |télécharger outlook |télécharger [outlook |enviado desde |enviado de |enviado do |enviado a partir |
enviado con |enviado com |enviado via |obtener outlook |obter o outlook |obtenha o outlook |descargar outlook |
inviato da |inviato dal |inviato con |scarica outlook |ottieni outlook |verstuurd vanaf |verstuurd met |
verzonden met |verzonden vanuit |verzonden vanaf |verzonden via |outlook voor |download outlook |skickat från |skickat med |hämta outlook |
skaffa outlook |yahoo mail: |sendt fra |sendt med |hent outlook |få outlook |skaff outlook |lähetetty |hanki outlook |
wysłane z |wysłano z |wysłane przez |pobierz aplikację outlook |pobierz outlook |odesláno z |odoslané z |získat outlook |
získajte outlook |stáhnout outlook |küldve|outlook letöltése |az outlook |trimis de pe |trimis din |obțineți outlook |
отправлено с |отправлено из |отправлено через |получить outlook |скачать outlook |скачайте outlook |надіслано з |
надіслано через |отримати outlook |завантажити outlook |gönderildi|outlook'u |iphone’umdan|iphone'umdan|ipad’imden|
στάλθηκε από |αποστολή από |λήψη του outlook |dikirim dari |dapatkan outlook |được gửi từ |gửi từ |tải outlook |
נשלח מ|أرسلت من |تم الإرسال من |发自我的|发自 |從我的|傳送自 |获取 |取得 |下載 |下载 |iphoneから|ipadから|androidから|
outlook for ios を|나의 iphone|내 iphone|iphone에서|outlook 다운로드`)

const NAMES = words(`
iphone|ipad|ipod|mac|macbook|apple watch|galaxy|samsung|android|huawei|honor|xiaomi|redmi|pixel|oneplus|oppo|vivo|nokia|
sony|xperia|motorola|moto|htc|lg|lenovo|alcatel|wiko|fairphone|blackberry|windows|smartphone|mobile|mobile device|
mobilgerät|handy|phone|cell|cell phone|tablet|pc|téléphone|appareil mobile|móvil|teléfono|celular|dispositivo|telefon|
telefoon|mobiel|mobil|puhelimesta|puhelin|телефона|outlook|hotmail|yahoo|gmail|inbox|mailbox|proton|proton mail|protonmail|
mail for|mail for windows|mail.ru|yandex|gmx|web.de|t-online|aol|spark|airmail|thunderbird|k-9|k-9 mail|fairemail|
bluemail|typeapp|typemail|edison|edison mail|superhuman|hey|mymail|newton|canary|nine|aqua mail|zoho mail|zoho|
fastmail|tutanota|tuta|posteo|mailspring|polymail|front|missive|sparrow|mimestream|shortwave|notion mail|libero|
virgilio|orange|laposte|sfr|comcast|xfinity|verizon|at&t|t-mobile|vodafone|o2|telstra|boxer|workspace one|maas360`)

const APOLOGY =
  /please|excuse|pardon|forgive|sorry|typo|brevity|bitte|entschuld|tippfehler|kürze|désolé|excus|fautes|disculp|perdon|errores|desculp|erros|scus|errori|fouten|ursäkta|undskyld|beklager|przepraszam|извин/
const OUTLOOK_LINK = /https:\/\/aka\.ms\/|outlook\.com\/mobile/i
/** Maximum number of words of a part of a signature. */
const MAX_WORDS = 8
/** Maximum number of words of a signature with a link. */
const MAX_WORDS_WITH_LINK = 4
/** Maximum number of words of "Sent from my" with a model. */
const MAX_WORDS_WITH_MODEL = 7
/** Maximum characters of a signature without its link. */
const MAX_LENGTH = 100
/** Maximum characters of a signature with its link. */
const MAX_LINE = 500
const LINK = /\s?[<([]?(?:https?:\/\/|mailto:)[^\s<>]+[>)\]]?/gi
/** Only whole names, not "pixels", but with endings of inflected languages. */
const NAME = new RegExp(
  `(?<![\\p{L}\\d])(?:${NAMES.map(escaped).join('|')})(?:'?\\p{Script=Cyrillic}{0,3})(?![\\p{L}])`,
  'u',
)
/** Names within words, for languages that attach endings or write without spaces. */
const NAME_IN_WORD = /(?:iphone|ipad|android|outlook|galaxy|samsung|huawei|xiaomi)/

/**
 * Whether a line is the signature of a device or app: "Sent from my iPhone", "Get Outlook for
 * iOS<https://…>".
 */
export function isDeviceSignature(line: string): boolean {
  if (line.length > MAX_LINE) return false
  const bare = line.replaceAll(LINK, ' ').trim()
  const text = bare.toLowerCase()
  if (text.length > MAX_LENGTH || text.includes('?')) return false
  // Outlook's own link, in any language.
  if (text.includes('outlook') && OUTLOOK_LINK.test(line)) return countWords(text) <= MAX_WORDS
  if (!STARTS.some((start) => text.startsWith(start))) return false
  // Only apps put a link in brackets after a name, so the name need not be known.
  const isLinked = /[<([]https?:/i.test(line) && countWords(text) <= MAX_WORDS_WITH_LINK
  // A model that is not listed has a capital letter or a digit.
  const isModel = /^[Ss]ent from my (?:[\w-]+ )*\S*[A-Z\d]\S*$/.test(bare)
  return isLinked || (isModel && countWords(text) <= MAX_WORDS_WITH_MODEL) || namesDevice(text)
}

/** A device or app early in the line, followed by little more than an apology for typos. */
function namesDevice(text: string): boolean {
  const found = NAME.exec(text) ?? (countWords(text) <= MAX_WORDS ? NAME_IN_WORD.exec(text) : null)
  if (!found) return false
  const before = text.slice(0, found.index)
  const behind = text.slice(found.index + found[0].length)
  if (/[,;:]/.test(before) || countWords(before) > MAX_WORDS) return false
  return APOLOGY.test(behind) || (countWords(behind) <= MAX_WORDS && !/[,;]\s*\p{L}/u.test(behind))
}

function countWords(text: string): number {
  return text.split(/\s+/).length
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
