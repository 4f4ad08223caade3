"""What walls and error pages say, in the languages that most pages are in."""

from __future__ import annotations

from typing import Final

from webloom.parsing.phrases import phrases

WALL_WORDS: Final = phrases(
    r"""
    just a moment | checking (?:if the site connection is secure|your browser)
    verif(?:y|ying) (?:that )?you(?:'re| are) (?:a )?(?:human|not a (?:ro)?bot)
    are you (?:a )?(?:human|robot|bot) | you(?:'re| are) not a (?:ro)?bot
    confirm (?:that )?you(?:'re| are) (?:a )?human | i(?:'m| am) not a robot
    prove (?:that )?you(?:'re| are) (?:a )?human | (?:human|bot) verification
    security (?:check|verification) | browser (?:check|verification) | attention required
    access (?:to this (?:page|site) )?(?:has been |is )?(?:denied|blocked|restricted)
    you (?:have been|are|were) (?:temporarily )?blocked | pardon our interruption
    you don'?t have permission to access
    request (?:was |has been )?(?:blocked|rejected|unsuccessful)
    (?:unusual|suspicious|automated) (?:traffic|activity|behaviou?r|requests)
    too many requests | rate limit(?:ed)?\b
    (?:enable|activate|turn on) (?:javascript|js) and cookies
    (?:enable|activate|turn on) cookies and (?:javascript|js)
    enter the characters you see | type the characters
    press (?:&|and) hold | slide to verify | captcha
    zugriff (?:verweigert|blockiert|gesperrt) | sicherheits(?:über|ueber)prüfung
    ungewöhnliche[nr]? (?:aktivität|datenverkehr|traffic) | kein roboter
    accès (?:refusé|bloqué|interdit) | pas un robot
    vérifi(?:ez|cation) [^.]{0,30}(?:humain|robot)
    acceso (?:denegado|bloqueado) | no (?:eres|soy) un robot | tráfico inusual
    accesso (?:negato|bloccato) | non (?:sei|sono) un robot
    acesso (?:negado|bloqueado) | não (?:é|sou) um robô
    toegang geweigerd | dostęp zabroniony
    доступ (?:запрещ|ограничен|заблокирован) | вы не робот
    访问被拒绝 | 安全验证 | 人机验证 | アクセスが拒否 | ロボットではありません | 접근이 거부
    """
)

ERROR_WORDS: Final = phrases(
    r"""
    \A[^\pL\pN_]*(?:40[034]|410|50[0234])\s*(?:\z|[-|:\x{2013}\x{2014}]|error|not|page)
    (?:error|http|status|code|fehler|erreur|errore|erro)[^\pL\pN_]{0,3}(?:40[034]|410|50[0234])\b
    [-|:\x{2013}\x{2014}]\s*404\b | \b(?:404|50[0234])\s+error\b
    \b(?:page|site|item|product|file|content|article|listing|ad|job) (?:was |is )?not available
    \bnot (?:be )?found\b | no longer (?:available|exists?|active)
    (?:page|item|product|listing) (?:you [^.]{0,40} )?(?:doesn't|does not) exist
    can(?:'t|not| not) (?:find|be found) | couldn't (?:find|be found)
    (?:internal )?server error | service (?:temporarily )?unavailable
    bad gateway | gateway time-?out | something went wrong | an error (?:has )?occurred
    (?:down|closed) for maintenance | under maintenance
    \A[^\pL\pN_]*(?:error|oops|fehler|erreur|errore|erro)[^\pL\pN_]*\z
    nicht gefunden | existiert nicht | nicht (?:mehr )?verfügbar
    ein fehler aufgetreten | wartungsarbeiten
    (?:page|produit) (?:introuvable|non trouvée?|inexistante) | n'existe (?:pas|plus)
    (?:página|producto) no (?:encontrad|existe|disponible) | no (?:se ha )?encontrad
    (?:pagina|prodotto) non (?:trovat|disponibile|esiste)
    (?:página|produto) não (?:encontrad|existe) | não (?:foi )?encontrad
    (?:pagina|product) niet gevonden | bestaat niet
    nie (?:została )?znaleziono? | sidan (?:hittades|kunde) (?:inte|ej)
    siden (?:blev )?(?:ble )?ikke (?:fundet|funnet) | sivua ei löyt
    stránka (?:nebyla |sa |se )?(?:nenalezena|nenašl|nebola nájden|nalezena)
    nem található | pagina nu (?:a fost găsit|există) | sayfa bulunamad
    страница не найдена | не найдено | сторінку? не знайдено | δεν βρέθηκε
    页面不存在 | 找不到(?:页面|頁面|网页) | 頁面不存在 | ページが見つかりません
    페이지를 찾을 수 없
    الصفحة غير موجودة
    """
)
