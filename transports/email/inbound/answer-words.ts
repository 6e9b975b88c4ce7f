import { words } from './quote-words.ts'

/**
 * Phrases (in lower case) that announce answers within the quote below. They name the place, colour
 * or author of the answers.
 */
const ANNOUNCEMENTS = words(`
below|in-line|inline|in line|beneath|underneath|further down|down there|interspersed|embedded in|are embedded|comments embedded|answers embedded|embedded below|within your|inside your|
in the text|in the body|in your text|in your mail|in your email|in your e-mail|in your message|between the lines|
in red|in blue|in green|in colour|in color|in bold|in italics|in italic|in caps|in capitals|in yellow|in orange|in purple|
in pink|in brackets|in black|in grey|in gray|in brown|in violet|in magenta|in cyan|in teal|in a different colour|in another colour|
in different colour|in different color|in another color|highlighted|marked|initials|my comments|my comment|my answers|my answer|
my replies|my responses|my notes|my note|my remarks|my feedback|my input|my thoughts|my edits|my annotations|my additions|
my changes|see comments|see answers|see replies|see responses|see notes|see annotations|comments added|answers added|
added my|added comments|with comments|annotated|commented|answers to your|answered your|after each|next to each|
beside each|under each|point by point|one by one|see attached thread|see inside|see mail body|
unten|untenstehend|untenstehende|unterhalb|weiter unten|darunter|s.u|s. u|im text|im fließtext|in rot|in blau|in grün|
in farbe|in fett|in fett|in kursiv|in gelb|in orange|in lila|rot markiert|blau markiert|grün markiert|gelb markiert|farbig|
rot geschrieben|markiert|hinterlegt|in roter|in blauer|in grüner|roter schrift|meine antworten|meine anmerkungen|
meine kommentare|meine antwort|meine anmerkung|mein kommentar|meinen antworten|meinen anmerkungen|meinen kommentaren|
mit anmerkungen|mit kommentaren|dazwischen|zwischen den zeilen|in deiner mail|in deiner e-mail|in deine mail|
in ihrer mail|in ihrer e-mail|in ihre mail|in ihrer nachricht|in deiner nachricht|direkt in|in klammern|jeweils|
nachfolgend|nachstehend|folgend|hineingeschrieben|reingeschrieben|ergänzt|eingefügt|
ci-dessous|ci dessous|ci-après|ci après|plus bas|en dessous|au-dessous|dans le texte|dans le corps|dans ton|dans votre|
en rouge|en bleu|en vert|en gras|en couleur|en jaune|en italique|en orange|en violet|surligné|mes réponses|ma réponse|
mes commentaires|mes remarques|mes annotations|entre les lignes|infra|à la suite|entre crochets|réponses à la suite|
abajo|más abajo|mas abajo|a continuación|a continuacion|debajo|en rojo|en azul|en verde|en negrita|en color|en amarillo|
en cursiva|en naranja|mis respuestas|mi respuesta|mis comentarios|mis notas|entre líneas|entre lineas|en el texto|
en el cuerpo|en tu correo|en su correo|dentro de|seguidamente|subrayado|resaltado|
abaixo|em baixo|embaixo|a seguir|em vermelho|em azul|em verde|em negrito|em cor|em amarelo|minhas respostas|
as respostas|meus comentários|no corpo|no texto|entre linhas|logo abaixo|sublinhado|destacado|
sotto|qui sotto|di seguito|in rosso|in blu|in verde|in grassetto|in giallo|in corsivo|a colori|le mie risposte|
mie risposte|la mia risposta|i miei commenti|miei commenti|nel testo|nel corpo|tra le righe|in calce|in linea|evidenziato|
hieronder|onderstaand|onderstaande|onderaan|beneden|eronder|in het rood|in rood|in het blauw|in blauw|in het groen|
in groen|in kleur|vetgedrukt|in het geel|in geel|mijn antwoorden|mijn antwoord|mijn opmerkingen|mijn reactie|
mijn reacties|mijn commentaar|in de tekst|in je mail|in uw mail|tussen de regels|tussendoor|ertussen|zie onder|
nedan|nedanför|här nere|längre ner|i rött|i rött|med rött|i blått|med blått|i grönt|i grått|i texten|i färg|mina svar|
mina kommentarer|mellan raderna|markerat|inne i|
nedenfor|nedenunder|herunder|længere nede|lenger ned|se under|svar under|under her|med rødt|i rødt|med blåt|med blått|i blåt|
i blått|med grønt|i grønt|i teksten|i farge|i farve|mine svar|mine kommentarer|mellem linjerne|mellom linjene|markeret|markert|
katso alla|ks. alla|ks alla|alla olevat|alla oleva|tuolla alla|vastaukseni alla|vastaukset alla|kommentit alla|alapuolella|alempana|punaisella|sinisellä|vihreällä|tekstin seassa|tekstin sekaan|tekstissä|vastaukseni|vastaukset|
kommenttini|kommentit|rivien välissä|
poniżej|niżej|pod spodem|na czerwono|na niebiesko|na zielono|czerwonym|niebieskim|zielonym|w tekście|w treści|
moje odpowiedzi|moja odpowiedź|moje uwagi|moje komentarze|między wierszami|kolorem|
níže|dole|červeně|červenou|modře|modrou|zeleně|zelenou|v textu|moje odpovědi|mé odpovědi|moje komentáře|barevně|
nižšie|nižšie v texte|červeným|červenou|modrým|zeleným|moje odpovede|moje komentáre|farebne|mezi řádky|
lent|lentebb|alább|alul|pirossal|kékkel|zölddel|színessel|szövegben|sorok között|sorok közé|válaszaim|megjegyzéseim|
mai jos|dedesubt|cu roșu|cu rosu|cu albastru|cu verde|în roșu|în text|in text|răspunsurile mele|comentariile mele|
aşağıda|aşağıdaki|altta|altında|kırmızı|kırmızıyla|mavi|yeşil|metin içinde|mail içinde|cevaplarım|yanıtlarım|satır aralarında|
παρακάτω|κάτωθι|πιο κάτω|με κόκκινο|με μπλε|με πράσινο|στο κείμενο|οι απαντήσεις μου|απαντώ|
ниже|внизу|снизу|красным|синим|зелёным|зеленым|цветом|жирным|курсивом|в тексте|по тексту|в письме|в теле|мои ответы|
мой ответ|мои комментарии|мои пояснения|между строк|выделил|выделила|выделено|по пунктам|
нижче|червоним|синім|зеленим|кольором|у тексті|в тексті|по тексту|у листі|мої відповіді|мої коментарі|між рядками|
по-долу|отдолу|в червено|с червено|със синьо|в текста|ispod|niže|dolje|dole|u tekstu|crveno|crvenim|plavom|crvenom|
moji odgovori|spodaj|z rdečo|v besedilu|allpool|punasega|sinisega|tekstis|zemāk|tekstā|sarkanā|žemiau|raudonai|tekste|
a baix|a sota|en vermell|en blau|al text|les meves respostes|bên dưới|dưới đây|ở dưới|màu đỏ|màu xanh|trong nội dung|
di bawah|berikut|warna merah|warna biru|dalam teks|jawaban saya`)

/** Such phrases in languages that do not separate words by spaces, or attach prefixes to them. */
const UNSPACED = words(`
下面|以下|如下|下方|下文|下邊|下边|红色|紅色|蓝色|藍色|绿色|綠色|标红|標紅|标注|標註|文中|行内|行內|逐条|逐條|逐一|见下|見下|内文|內文|正文|我的回复|我的回覆|
下記|以下|下に|下の|赤字|赤色|赤で|青字|青色|青で|緑|太字|文中|本文|インライン|行間|それぞれ|回答を|コメントを|
아래|하단|밑에|빨간|빨강|파란|초록|본문|사이사이|답변을|أدناه|بالأحمر|باللون|في النص|بالأزرق|למטה|להלן|באדום|בכחול|בירוק|בגוף|בצבע|
ด้านล่าง|ข้างล่าง|สีแดง|สีน้ำเงิน|สีเขียว|ในเนื้อหา|नीचे|लाल`)

const ANNOUNCEMENT = new RegExp(
  `(?<![\\p{L}\\d])(?:${ANNOUNCEMENTS.map(escaped).join('|')})(?![\\p{L}\\d])`,
  'iu',
)

/** Whether a text announces answers further down. */
export function announcesAnswers(text: string): boolean {
  return ANNOUNCEMENT.test(text) || UNSPACED.some((word) => text.includes(word))
}

/** What may follow a salutation or farewell: up to three words, then one punctuation mark. */
const NAMES_AND_MARK = "(?:[\\s,]+[\\p{L}][\\p{L}.'’-]*){0,3}\\s*[,.:!،،，。！]*$"

/** Salutations. A text with nothing else has no content of its own. */
const GREETINGS = words(`
hi|hello|hey|dear|good morning|good afternoon|good evening|good day|greetings|hallo|hi zusammen|liebe|lieber|moin|servus|
grüezi|guten tag|guten morgen|guten abend|sehr geehrte|sehr geehrter|bonjour|bonsoir|salut|cher|chère|madame|monsieur|
hola|buenos días|buenas tardes|buenas|estimado|estimada|querido|olá|oi|bom dia|boa tarde|boa noite|prezado|prezada|caro|
cara|ciao|buongiorno|buonasera|salve|gentile|egregio|goedemorgen|goedemiddag|goedenavond|goedendag|beste|geachte|hoi|dag|
hej|hejsan|god morgon|hei|god dag|kære|kjære|terve|moi|hyvä|cześć|dzień dobry|witam|szanowny|szanowna|drogi|ahoj|
dobrý den|dobrý deň|vážený|vážená|milý|milá|szia|kedves|tisztelt|jó napot|bună|bună ziua|stimate|stimată|merhaba|selam|
sayın|γεια|γειά|καλημέρα|καλησπέρα|αγαπητέ|привет|здравствуйте|добрый день|доброе утро|добрый вечер|уважаемый|уважаемая|
привіт|доброго дня|добрий день|шановний|bok|dobar dan|poštovani|zdravo|tere|labdien|sveiki|laba diena|xin chào|chào|halo|
selamat pagi|selamat siang|您好|你好|大家好|尊敬的|こんにちは|お世話になっております|お疲れ様です|안녕하세요|שלום|היי|مرحبا|السلام عليكم|สวัสดี`)
const GREETING = new RegExp(`^(?:${GREETINGS.map(escaped).join('|')})${NAMES_AND_MARK}`, 'iu')

const CLOSINGS = words(`
best regards|kind regards|warm regards|regards|best wishes|best|cheers|sincerely|yours|yours sincerely|br|kr|rgds|
mit freundlichen grüßen|mit freundlichen grüssen|freundliche grüße|freundliche grüsse|viele grüße|viele grüsse|
liebe grüße|beste grüße|schöne grüße|herzliche grüße|gruß|grüße|lg|vg|mfg|bg|cordialement|bien cordialement|
bien à vous|cdt|bonne journée|sincères salutations|saludos|un saludo|atentamente|cordialmente|atenciosamente|att|
abraços|cumprimentos|cordiali saluti|saluti|distinti saluti|met vriendelijke groet|met vriendelijke groeten|groet|
groeten|groetjes|mvg|hälsningar|vänliga hälsningar|med vänliga hälsningar|mvh|venlig hilsen|med venlig hilsen|hilsen|
med vennlig hilsen|vennlig hilsen|ystävällisin terveisin|terveisin|pozdrawiam|z poważaniem|s pozdravem|s pozdravom|
üdvözlettel|üdv|cu stimă|cu respect|saygılarımla|saygılar|με εκτίμηση|с уважением|з повагою|lijep pozdrav|pozdrav|
此致|祝好|よろしくお願いします|よろしくお願いいたします|감사합니다`)
const CLOSING = new RegExp(`^(?:${CLOSINGS.map(escaped).join('|')})${NAMES_AND_MARK}`, 'iu')
const THANKS = words(`
thanks|thank you|many thanks|thanks in advance|thx|danke|vielen dank|besten dank|danke im voraus|merci|merci d'avance|gracias|
muchas gracias|obrigado|obrigada|grazie|bedankt|dank|alvast bedankt|tack|takk|tak|på forhånd tak|kiitos|dziękuję|
z góry dziękuję|děkuji|ďakujem|köszönöm|mulțumesc|teşekkürler|ευχαριστώ|спасибо|заранее спасибо|дякую|谢谢|謝謝|ありがとうございます`)
const THANKS_LINE = new RegExp(`^(?:${THANKS.map(escaped).join('|')})${NAMES_AND_MARK}`, 'iu')

/** Whether a line is only a salutation. */
export function isGreeting(line: string): boolean {
  return GREETING.test(line.trim())
}

/** Whether a line is only a farewell or thanks. */
export function isClosing(line: string): boolean {
  return CLOSING.test(line.trim()) || THANKS_LINE.test(line.trim())
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
