use super::*;

fn view() -> CatalogObject {
    CatalogObject::View(CatalogView {
        query: "SELECT 1".into(),
        column_names: vec![],
        columns: vec![],
        comment: None,
        current: Catalogs::default().current().clone(),
    })
}

fn path(catalogs: &Catalogs, name: &str) -> ObjectPath {
    catalogs.resolve(&[name.to_owned()]).unwrap()
}

#[test]
fn temporary_objects_hide_others_until_they_are_dropped() {
    let mut catalogs = Catalogs::default();
    let orders = path(&catalogs, "orders");
    catalogs.create_object(orders.clone(), view(), false, false).unwrap();
    assert!(catalogs.create_object(orders.clone(), view(), false, false).is_err());
    catalogs.create_object(orders.clone(), view(), true, false).unwrap();
    assert!(catalogs.is_temporary(&orders));
    assert!(catalogs.drop_object(&orders, false).unwrap_err().to_string().contains("temporary"));
    catalogs.drop_object(&orders, true).unwrap();
    assert!(!catalogs.is_temporary(&orders) && catalogs.object(&orders).is_ok());
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let mut catalogs = Catalogs::default();
    catalogs.create_object(path(&catalogs, "orders"), view(), false, false).unwrap();
    let error = catalogs.object(&path(&catalogs, "order")).unwrap_err().to_string();
    assert_eq!(error, "job error: there is no table or view 'order'; did you mean 'orders'?");
    assert!(catalogs.use_database(DEFAULT_CATALOG, "x").is_err());
    assert!(catalogs.drop_catalog(DEFAULT_CATALOG).unwrap_err().to_string().contains("in use"));
}
