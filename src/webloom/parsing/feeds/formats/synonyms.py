"""Names that feeds give to the fields of a posting, whatever their format.

Hyphens, underscores and case are left out: `job_title`, `Job-Title` and `jobTitle` are one name.
Where a record has several of them, the first is taken.
"""

from __future__ import annotations

from typing import Final

from webloom.parsing.feeds.formats.format import Paths
from webloom.parsing.feeds.words import words

_ID = words(
    "guid externalid referencenumber referenceid reference refid refno refnumber ref jobid "
    "jobreference jobrefid jobrefcode jobref jobnumber jobcode jobkey partnerjobid requisitionid "
    "requisitionnumber reqid uniqueid identifier identifier/value uid uuid vacancyid vacancynumber "
    "vacancyref positionid offerid adid adreference advertid listingid postingid postid "
    "sourceid displayreference id key code shortcode slug"
)
_TITLE = words(
    "title jobtitle positiontitle vacancytitle postingtitle listingtitle offertitle adtitle "
    "advertisementtitle jobname positionname position/title name position role headline "
    "designation heading stellenbezeichnung stellentitel titel titre intitule titulo titolo puesto "
    "cargo occupation"
)
_URL = words(
    "url joburl link joblink detailurl detailsurl jobdetailurl detailpageurl permalink "
    "canonicalurl "
    "absoluteurl hostedurl landingpage landingpageurl deeplink deeplinkurl externalurl pageurl "
    "weburl webaddress displayurl viewurl vacancyurl adurl offerurl redirecturl clickurl uri href "
    "careersurl applyurl applicationurl applylink applicationlink applyhere howtoapply lien enlace"
)
_COMPANY = words(
    "company companyname company/name company/@name employer employername employer/name "
    "hiringorganization hiringorganization/name hiringcompany hiringorganizationname organization "
    "organisation organizationname organisationname advertisername advertiser clientname client "
    "recruitername recruiter brand brandname firm businessname agencyname agency unternehmen "
    "arbeitgeber firma entreprise employeur empresa azienda bedrijf sourcename subcompany"
)
_LOCATION = words(
    "location joblocation locationname fulllocation formattedlocation locationtext displaylocation "
    "locationdescription locationrestrictions locationrestriction worklocation "
    "candidaterequiredlocation candidatelocationrestriction place "
    "placeofwork workplace citystate area geography jobgeo jobregion office officelocation "
    "office/name "
    "arbeitsort einsatzort standort ort lieu localisation ubicacion localizacion localidad luogo "
    "standplaats hqlocation address"
)
_PLACES = (
    "location",
    "joblocation",
    "joblocation/address",
    "address",
    "place",
    "locations/location",
)


def _in_places(names: str) -> tuple[str, ...]:
    parts = names.split()
    nested = (f"{place}/{part}" for place in _PLACES for part in parts)
    attributes = (f"location/@{part}" for part in parts)
    return (*nested, *parts, *attributes)


_PAY = (
    "salary",
    "compensation",
    "basesalary",
    "basesalary/value",
    "salaries/salary",
    "pay",
    "salaryrange",
    "payrange",
)


def _in_pay(names: str, within: str) -> tuple[str, ...]:
    parts = (*within.split(), *names.split())
    nested = (f"{pay}/{part}" for pay in _PAY for part in (*parts, *(f"@{p}" for p in parts)))
    return (*names.split(), *nested)


LISTED: Final = "listed"  # categories that are divided by commas, by their names
COMMON: Final[Paths] = {
    "externalId": _ID,
    "title": _TITLE,
    "jobUrl": (*_URL, "link/@href", "url/@href"),
    "company": _COMPANY,
    "city": _in_places(
        "city town locality addresslocality municipality jobcity locationcity cityname stadt ville "
        "ciudad citta plaats cidade"
    ),
    "region": _in_places(
        "state region province county addressregion statecode stateprovince stateorprovince "
        "jobstate "
        "locationstate statename bundesland departement provincia"
    ),
    "country": _in_places(
        "country countryname countrycode addresscountry jobcountry locationcountry countryiso land "
        "pays pais paese"
    ),
    "location": (*_LOCATION, "locations/location", "locations"),
    "remote": words(
        "remote isremote remotetype remotework remoteallowed remotestatus remotejob remoteposition "
        "telecommute telecommuting workfromhome homeoffice joblocationtype workplacetype workmodel "
        "workmode workarrangement locationtype worksetting location/remote"
    ),
    "jobType": words(
        "jobtype employmenttype jobtypes employmenttypes contracttype contracttime positiontype "
        "worktype typeofemployment workinghours worktime jobschedule schedule employment "
        "commitment "
        "contract beschaeftigungsart vertragsart arbeitszeit typecontrat tipocontrato type"
    ),
    "salary": (*words(
        "salary salarytext salaryrange displaysalary salarydescription formattedsalary "
        "salarydisplay "
        "compensation pay payrange payrate wage wages remuneration basesalary estimatedsalary "
        "salaryinfo package rate gehalt salaire salario stipendio salaris"
    ), *(f"{pay}/{part}" for pay in _PAY for part in ("amount", "value", "text"))),
    "salaryMin": _in_pay(
        "salarymin minsalary salaryminimum minimumsalary salaryfrom salarylow salarystart "
        "annualsalarymin salaryrangefrom salaryrangemin minpay paymin payratemin mincompensation "
        "compensationmin salarylower salarymininum",
        "min minimum minvalue from low lowend lowend/amount minamount start",
    ),
    "salaryMax": _in_pay(
        "salarymax maxsalary salarymaximum maximumsalary salaryto salaryhigh salaryend "
        "annualsalarymax salaryrangeto salaryrangemax maxpay paymax payratemax maxcompensation "
        "compensationmax salaryupper",
        "max maximum maxvalue to high highend highend/amount maxamount end",
    ),
    "salaryCurrency": _in_pay(
        "salarycurrency currency currencycode salarycurrencycode paycurrency compensationcurrency",
        "currency currencycode lowend/currencycode highend/currencycode",
    ),
    "salaryPeriod": _in_pay(
        "salaryperiod salaryfrequency salaryunit salaryinterval salarytype salaryper payperiod "
        "payfrequency paytype payunit salaryunittext unittext compensationperiod rateperiod "
        "compensationinterval",
        "period frequency unit unittext interval type per",
    ),
    "categories": words(
        "category categories/category jobcategory tag tags/tag keyword keywords/keyword industry "
        "industries/industry jobindustry sector department departments/department jobfunction "
        "function discipline specialty classification team branche kategorie categorie categoria"
    ),
    LISTED: words("categories jobcategories tags keywords industries departments"),
    "description": words(
        "contentencoded encoded fulldescription descriptionhtml htmldescription jobdescription "
        "jobdescriptionhtml longdescription positiondescription vacancydescription "
        "descriptionfull description contenthtml content body jobbody bodyhtml html details "
        "jobdetails jobdetail detail text contenttext jobtext adtext stellenbeschreibung "
        "beschreibung descripcion descrizione omschrijving descricao summary jobsummary "
        "shortdescription excerpt abstract jobexcerpt teaser post"
    ),
    "publishedAt": words(
        "pubdate published publishedat publishedon publisheddate publishdate publicationdate "
        "datepublished "
        "dateposted posteddate postdate postedat postedon postingdate posted listdate listeddate "
        "listingdate date jobdate createdat created createdon createddate creationdate datecreated "
        "releasedate releaseddate activationdate opendate openingdate dateopened firstpublished "
        "firstseen datum "
        "issued "
        "validfrom onlinesince veroeffentlichungsdatum datepublication fechapublicacion "
        "updatedat updated updateddate modified modifieddate lastmodified dateupdated datemodified "
        "lastupdated lastactivitydate timestamp epoch"
    ),
    "expiresAt": words(
        "expirationdate expire expiresat expires expirydate expireson expiry expiredate "
        "expireddate "
        "dateexpires dateexpired expiration validthrough validuntil validto closingdate closedate "
        "closingon applicationdeadline applicationclosingdate deadline applyby applybefore "
        "unpublishdate bewerbungsfrist datelimite"
    ),
}  # fmt: skip

# Some feeds write a record's fields as its attributes.
AS_ATTRIBUTES: Final[Paths] = {
    field: tuple(f"@{path}" for path in paths if "/" not in path) for field, paths in COMMON.items()
}
