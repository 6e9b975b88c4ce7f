/** The words by which Gmail, Apple Mail, Outlook, Thunderbird, Yahoo and GMX introduce what they quote, in lower case. */

/** What an attribution line ("On … wrote:") starts with, where it starts with a word. */
export const ATTRIBUTION_STARTS = words(`
on |-----on |am |le |il |in data |el |em |op |den |dnia |w dniu |pe |dne |dňa |în |la data |στις |vào |
på |na |pada |在|20`)

/** What it says that somebody did. */
export const ATTRIBUTION_VERBS = words(`
 wrote| writes| schrieb| écrit| ha scritto| escribió| escreveu| schreef| geschreven| skrev| napisał|
 pisze| kirjoitti| napsal| napísal| a scris| έγραψε| đã viết| написал| пишет| пише| написав| ezt írta|
 yazdı| va escriure| napisao| napisala| kirjutas| rakstīja| rašė| menulis| skrifaði| כתב| كتب| เขียน|写道|
寫道|写信|作成|작성|のメッセージ|のメール|さんは書きました`)

/** Between dashes, above a quote that goes to the end. */
export const ORIGINAL_MESSAGE = words(`
original message|original email|reply message|ursprüngliche nachricht|originalnachricht|message d'origine|
message d’origine|message original|messaggio originale|mensaje original|mensagem original|
oorspronkelijk bericht|oprindelig besked|oprindelig meddelelse|ursprungligt meddelande|originalmeddelande|
opprinnelig melding|opprinnelig e-post|alkuperäinen viesti|oryginalna wiadomość|wiadomość oryginalna|
původní zpráva|pôvodná správa|eredeti üzenet|mesaj original|исходное сообщение|оригинальное сообщение|
оригінальне повідомлення|özgün ileti|orijinal mesaj|αρχικό μήνυμα|thư gốc|原始邮件|邮件原件|原始郵件|原始訊息|元のメッセージ|
オリジナルメッセージ|원본 메시지|원본 메일|reply above this line`)

/** How a device or an app signs by itself: the line starts with the one and names the other. */
export const DEVICE_STARTS = words(`
sent from |sent with |sent via |get outlook for |von meinem |von meiner |gesendet von |gesendet mit |
gesendet via |envoyé de |envoyé depuis |enviado desde |enviado de |enviado do |inviato da |inviato dal |
verstuurd vanaf |verzonden met |verzonden vanaf |skickat från |sendt fra |lähetetty |wysłane z |
wysłano z |odesláno z |odoslané z |küldve |trimis de pe |отправлено с |отправлено из |надіслано з |
gönderildi|iphone’umdan|iphone'umdan|ipad’imden|发自我的|從我的|傳送自|iphoneから|ipadから|나의 iphone|내 iphone|
скачать outlook для `)
export const DEVICE_NAMES = words(`
iphone|ipad|ipod|mac|galaxy|samsung|android|huawei|xiaomi|redmi|pixel|oneplus|oppo|nokia|sony|motorola|
blackberry|windows|smartphone|mobile|handy|phone|tablet|téléphone|móvil|teléfono|celular|telefon|telefoon|
puhelime|телефон|outlook|yahoo|gmail|proton|mail for|mail.ru|yandex|gmx|web.de|aol|spark|airmail|
thunderbird`)

/** What a line of the header block says that Outlook and others put above a quote. */
export type BlockRole = (typeof ROLES)[number]

/** Of a name that means two the last counts. */
const ROLES = ['subject', 'to', 'date', 'sent', 'from'] as const

/** The names of those lines. Outlook says `sent`; a person who lists a trip says `date`. */
const NAMES: Record<BlockRole, string> = {
  subject: `
subject|betreff|objet|sujet|oggetto|asunto|assunto|onderwerp|ämne|emne|aihe|temat|předmět|predmet|tárgy|
subiect|subiectul|naslov|efni|teema|θέμα|тема|konu|chủ đề|tiêu đề|perihal|主题|主題|主旨|件名|제목|נושא|الموضوع`,
  to: `
to|an|à|pour|a|para|aan|till|til|vastaanottaja|do|komu|pre|címzett|către|destinatarul|prima|adresat|προς|
кому|kime|alıcı|đến|tới|kepada|收件人|收件者|宛先|받는 사람|받는사람|אל|إلى`,
  date: `
date|datum|date d’envoi|data|fecha|dato|päivämäärä|päiväys|dátum|dată|ημερομηνία|дата|gönderme tarihi|tarih|
ngày|发送日期|日期|时间|日時|日付|날짜|תאריך|تاريخ`,
  sent: `
sent|sent on|gesendet|envoyé|inviato|enviado|enviada|enviado el|enviada em|verzonden|skickat|sendt|lähetetty|
wysłano|odesláno|odoslané|elküldve|trimis|poslano|στάλθηκε|отправлено|надіслано|відправлено|gönderildi|
gönderilen|đã gửi|dikirim|发送时间|寄件日期|傳送日期|送信日時|보낸 날짜|보낸날짜|נשלח`,
  from: `
from|von|de|da|van|från|fra|od|lähettäjä|feladó|expeditorul|de la|mittente|remitente|nadawca|šalje|saatja|
από|от|отправитель|від|від кого|kimden|gönderen|từ|dari|frá|发件人|寄件者|寄件人|差出人|보낸 사람|보낸사람|מאת|من`,
}

/** What each name in a header block means. */
export const BLOCK_ROLES: ReadonlyMap<string, BlockRole> = new Map(
  ROLES.flatMap((role) => words(NAMES[role]).map((name) => [name, role] as const)),
)

function words(list: string): string[] {
  return list.replaceAll('\n', '').split('|')
}
