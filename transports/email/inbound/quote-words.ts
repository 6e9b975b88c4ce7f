/** The words by which mail clients introduce what they quote, in lower case. */

/**
 * First words of attribution lines ("On … wrote:"), for languages in which they start with a word.
 */
export const ATTRIBUTION_STARTS = words(`
on |in a message dated |am |le |il |in data |el |em |op |den |dnia |w dniu |pe |dne |dňa |în |la data |στις |vào |på |na |pada |
dana |ngày |在|20`)

/** Verbs of attribution lines. */
export const ATTRIBUTION_VERBS = words(`
 wrote| writes| said| schrieb| écrit| ha scritto| escribió| escreveu| schreef| geschreven| skrev| napisał|
 pisze| kirjoitti| napsal| napísal| a scris| έγραψε| đã viết| написал| пишет| пише| написав| ezt írta|
 yazdı| va escriure| írta| sent| wrote via| napísala| napsala| napisała| написала| написав(ла)| je napisao|
 je napisala| pisal| rašo| raksta| skrifar| a écrit| schrijft| skriver| escribe| napisao| napisala| kirjutas| rakstīja| rašė| menulis| skrifaði| כתב| كتب| نوشت| เขียน|写道|
寫道|写信|作成|작성|のメッセージ|のメール|さんは書きました`)

/** Texts between dashes above a quote that extends to the end. */
export const ORIGINAL_MESSAGE = words(`
original message|original email|original appointment|reply message|antwort nachricht|ursprüngliche nachricht|ursprünglicher termin|originalnachricht|message d'origine|
message d’origine|message original|messaggio originale|mensaje original|mensagem original|
oorspronkelijk bericht|oprindelig besked|oprindelig meddelelse|ursprungligt meddelande|originalmeddelande|
opprinnelig melding|opprinnelig e-post|alkuperäinen viesti|oryginalna wiadomość|wiadomość oryginalna|
původní zpráva|pôvodná správa|eredeti üzenet|mesaj original|исходное сообщение|оригинальное сообщение|
оригінальне повідомлення|özgün ileti|orijinal mesaj|αρχικό μήνυμα|thư gốc|原始邮件|邮件原件|原始郵件|原始訊息|元のメッセージ|
オリジナルメッセージ|원본 메시지|원본 메일`)

/** Lines that help desks put above their mails; they cut replies there. */
export const REPLY_ABOVE = words(`
above this line|above the line|above this text|oberhalb dieser zeile|über dieser zeile|über diese zeile|
au-dessus de cette ligne|au dessus de cette ligne|por encima de esta línea|encima de esta línea|sobre esta línea|
acima desta linha|sopra questa riga|sopra questa linea|boven deze lijn|boven deze regel|ovanför den här raden|
ovanför denna rad|over denne linje|over denne linjen|tämän rivin yläpuolelle|powyżej tej linii|nad tą linią|
nad tento řádek|nad tuto čáru|выше этой строки|выше этой линии|bu satırın üstüne|この行より上|在此行上方|在此线以上`)

/** The meaning of a line in a header block above a quote (Outlook and others). */
export type BlockRole = (typeof ROLES)[number]

/** If a name has two meanings, the later role in this list applies. */
const ROLES = ['subject', 'to', 'date', 'sent', 'from'] as const

/**
 * The names of those lines, by role. Outlook writes `sent`; a person who lists a trip writes
 * `date`.
 */
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
sent|sent on|sent at|gesendet|gesendet am|envoyé|envoyé le|message du|inviato|data invio|enviado|enviada|enviado el|enviada em|verzonden|skickat|sendt|lähetetty|
wysłano|odesláno|odoslané|elküldve|trimis|poslano|στάλθηκε|отправлено|надіслано|відправлено|gönderildi|
gönderilen|đã gửi|dikirim|发送时间|寄件日期|傳送日期|送信日時|보낸 날짜|보낸날짜|נשלח`,
  from: `
from|von|de|da|van|från|fra|od|lähettäjä|feladó|expeditorul|de la|mittente|remitente|nadawca|šalje|saatja|
από|от|отправитель|від|від кого|kimden|gönderen|từ|dari|frá|发件人|寄件者|寄件人|差出人|보낸 사람|보낸사람|מאת|من`,
}

/** The meaning of each name in a header block. */
export const BLOCK_ROLES: ReadonlyMap<string, BlockRole> = new Map(
  ROLES.flatMap((role) => words(NAMES[role]).map((name) => [name, role] as const)),
)

/** The words of a list separated by `|`, over several lines. */
export function words(list: string): string[] {
  return list.replaceAll('\n', '').split('|')
}
